#include "app/presenters/tensor/tensor_export.h"
#include "app/presenters/tensor/tensor_presenter.h"
#include "replay/npy.h"

namespace msdbg::app {

using core::CancelToken;
using core::Status;
using replay::Run;

// write: (Run&, const CancelToken&, path) -> Status, on the replay thread. `note` is said behind the file's
// name.
template <typename Write>
void TensorPresenter::exportFile(const QString& file, Write write, const std::string& note) {
  const std::string tag = "export " + std::to_string(++m_exports);  // one never cancels another
  const std::filesystem::path path = file.toStdString();
  m_pending.insert(tag);
  m_document.replay().ask(
      this, tag,
      [path, write = std::move(write)](Run& run, const CancelToken& token) -> Status {
        return writeThenRename(
            path, [&](const std::filesystem::path& temporary) { return write(run, token, temporary); });
      },
      [this, tag, file, note](const Status& written) {
        m_pending.erase(tag);
        if (written.ok())
          emit exported(tr("written to %1").arg(file) + QString::fromStdString(note));
        else
          emit failed(QString::fromStdString(written.error().message()));
      });
}

void TensorPresenter::exportNpy(const QString& file) {
  exportFile(
      file,
      [cache = m_cache, key = m_a](Run& run, const CancelToken&,
                                   const std::filesystem::path& path) -> Status {
        MSDBG_ASSIGN(const core::Tensor value, cache->value(run, key));
        return replay::writeNpy(path, value);
      },
      replay::npyNote(info().dtype));
}

void TensorPresenter::exportCsv(const QString& file, Side side) {
  exportFile(file,
             [cache = m_cache, asked = question(), plane = m_plane, side](
                 Run& run, const CancelToken&, const std::filesystem::path& path) -> Status {
               MSDBG_ASSIGN(const SideValues values, sideValues(run, *cache, asked, side));
               return writeCsv(path, values, plane);
             });
}

void TensorPresenter::exportPng(const QString& file, Side side, ColourMap map, const SignalColours& signal) {
  const PictureQuestion picture{map, QSize(Picture::kMostSide, Picture::kMostSide)};
  exportFile(file,
             [cache = m_cache, asked = question(), plane = m_plane, side, picture, signal](
                 Run& run, const CancelToken& token, const std::filesystem::path& path) -> Status {
               MSDBG_TRY(sideValues(run, *cache, asked, side));
               const PerSide<Picture> pictures = readPictures(run, *cache, asked, plane, picture, token);
               return writePng(path, pictures[indexOf(side)], signal);
             });
}

}  // namespace msdbg::app

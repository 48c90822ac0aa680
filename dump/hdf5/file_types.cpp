// Element types in files: FORMAT.md, "Names". All are little-endian.
#include <algorithm>

#include "dump/hdf5/hdf5_internal.h"

namespace msdbg::dump::hdf5 {
namespace {

constexpr std::size_t kLongestName = 64;

/// What HDF5 has no type of its own for. Made once, kept until the program ends.
struct MadeTypes {
  hid_t float16 = -1, bfloat16 = -1, float8E5M2 = -1, complex64 = -1, complex128 = -1;
};

/// As IEEE 754 would have a float of this size: sign, exponent, fraction; the largest exponent is of Inf and
/// NaN.
hid_t makeFloat(std::size_t bytes, std::size_t exponent, std::size_t fraction) {
  const hid_t type = H5Tcopy(H5T_IEEE_F32LE);
  const std::size_t bias = (std::size_t{1} << (exponent - 1)) - 1;
  const bool made = H5Tset_fields(type, 8 * bytes - 1, fraction, exponent, 0, fraction) >= 0 &&
                    H5Tset_size(type, bytes) >= 0 && H5Tset_ebias(type, bias) >= 0;
  return made ? type : -1;
}

/// As h5py writes it.
hid_t makeComplex(hid_t part) {
  const std::size_t bytes = H5Tget_size(part);
  const hid_t type = H5Tcreate(H5T_COMPOUND, 2 * bytes);
  return H5Tinsert(type, "r", 0, part) >= 0 && H5Tinsert(type, "i", bytes, part) >= 0 ? type : -1;
}

const MadeTypes& madeTypes() {
  static const MadeTypes types = [] {
    const std::lock_guard lock(libraryMutex());
    initialise();
    return MadeTypes{makeFloat(2, 5, 10), makeFloat(2, 8, 7), makeFloat(1, 5, 2), makeComplex(H5T_IEEE_F32LE),
                     makeComplex(H5T_IEEE_F64LE)};
  }();
  return types;
}

core::Result<std::string> readText(hid_t object, const std::string& name) {
  MSDBG_ASSIGN(const Handle attribute, owned(MSDBG_H5(H5Aopen, object, name.c_str(), H5P_DEFAULT), H5Aclose));
  MSDBG_ASSIGN(const Handle type, owned(MSDBG_H5(H5Aget_type, attribute.id()), H5Tclose));
  MSDBG_ASSIGN(const H5T_class_t kind, MSDBG_H5(H5Tget_class, type.id()));
  MSDBG_ASSIGN(const htri_t variable, MSDBG_H5(H5Tis_variable_str, type.id()));
  MSDBG_ASSIGN(const Handle space, owned(MSDBG_H5(H5Aget_space, attribute.id()), H5Sclose));
  MSDBG_ASSIGN(const hssize_t count, MSDBG_H5(H5Sget_simple_extent_npoints, space.id()));
  const std::size_t size = typeSize(type.id());
  if (kind != H5T_STRING || variable != 0 || count != 1 || size > kLongestName)
    return core::Error(core::ErrorCode::kDamaged, "attribute " + name + " is no short text");
  std::string text(size, '\0');
  MSDBG_TRY(MSDBG_H5(H5Aread, attribute.id(), type.id(), text.data()));
  text.resize(std::min(text.find('\0'), size));
  return text;
}

}  // namespace

hid_t fileType(core::DType dtype) {
  switch (dtype) {
    case core::DType::Float32:
      return H5T_IEEE_F32LE;
    case core::DType::Float64:
      return H5T_IEEE_F64LE;
    case core::DType::Int64:
      return H5T_STD_I64LE;
    case core::DType::Int32:
      return H5T_STD_I32LE;
    case core::DType::Int16:
      return H5T_STD_I16LE;
    case core::DType::Int8:
      return H5T_STD_I8LE;
    case core::DType::UInt64:
      return H5T_STD_U64LE;
    case core::DType::UInt32:
      return H5T_STD_U32LE;
    case core::DType::UInt16:
      return H5T_STD_U16LE;
    case core::DType::Float16:
      return madeTypes().float16;
    case core::DType::BFloat16:
      return madeTypes().bfloat16;
    case core::DType::Float8E5M2:
      return madeTypes().float8E5M2;
    case core::DType::Complex64:
      return madeTypes().complex64;
    case core::DType::Complex128:
      return madeTypes().complex128;
    case core::DType::UInt8:
    case core::DType::Bool:
    case core::DType::Float8E4M3FN:
    case core::DType::Float8E4M3FNUZ:
    case core::DType::Float8E5M2FNUZ:
      return H5T_STD_U8LE;
    case core::DType::Unsupported:
      break;
  }
  return H5I_INVALID_HID;  // HDF5 refuses it
}

bool isNamedInFile(core::DType dtype) {
  return dtype == core::DType::Bool || dtype == core::DType::Float8E4M3FN ||
         dtype == core::DType::Float8E4M3FNUZ || dtype == core::DType::Float8E5M2FNUZ;
}

std::size_t typeSize(hid_t type) {
  const std::lock_guard lock(libraryMutex());  // a size is never negative: call() is not for it
  return H5Tget_size(type);
}

core::Result<std::optional<core::DType>> storedDType(hid_t dataset) {
  MSDBG_ASSIGN(const Handle type, owned(MSDBG_H5(H5Dget_type, dataset), H5Tclose));
  MSDBG_ASSIGN(const htri_t named, MSDBG_H5(H5Aexists, dataset, kDTypeAttribute));
  std::optional<core::DType> name;
  if (named > 0) {
    MSDBG_ASSIGN(const std::string text, readText(dataset, kDTypeAttribute));
    name = core::dtypeFromName(text);
    if (!name || !isNamedInFile(*name)) return std::optional<core::DType>();
  }
  for (const core::DType dtype : core::kDTypes) {
    if (name ? dtype != *name : isNamedInFile(dtype)) continue;
    MSDBG_ASSIGN(const htri_t same, MSDBG_H5(H5Tequal, type.id(), fileType(dtype)));
    if (same > 0) return std::optional(dtype);
  }
  return std::optional<core::DType>();
}

}  // namespace msdbg::dump::hdf5

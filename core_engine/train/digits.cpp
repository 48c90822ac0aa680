// `digits`: handwriting-like digits, drawn when asked for. A sample is a function of seed, number and image
// size; only sums, products, quotients and square roots are used, which IEEE 754 rounds alike everywhere.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core_engine/base/philox.h"
#include "core_engine/train/digit_glyphs_internal.h"
#include "core_engine/train/image_loader_internal.h"

namespace msdbg::core {
namespace {

constexpr std::int64_t kEpoch = 8000;
constexpr float kNoise = 0.2f;  // width of the uniform noise

// How one sample is written. Lengths are in parts of the image's smaller side.
struct Hand {
  float width, height;  // of the glyph's box
  float sine, cosine;   // rotation, up to 15 degrees
  float slant;          // x shift per height
  float shiftX, shiftY;
  float stroke;  // width of the line
  float ink;     // darkest value
};

class Draws {
 public:
  explicit Draws(const RandomStream& stream) : m_stream(stream) {}
  float between(float low, float high) {
    return low + (high - low) * static_cast<float>(m_stream.uniform(m_next++));
  }

 private:
  const RandomStream& m_stream;
  std::uint64_t m_next = 1;  // 0 is the label's
};

Hand drawHand(const RandomStream& stream) {
  Draws d(stream);
  Hand hand{};
  hand.width = d.between(0.42f, 0.6f);
  hand.height = d.between(0.58f, 0.76f);
  const float t = d.between(-0.13f, 0.13f);  // tangent of half the angle
  hand.sine = 2 * t / (1 + t * t);
  hand.cosine = (1 - t * t) / (1 + t * t);
  hand.slant = d.between(-0.15f, 0.25f);
  hand.shiftX = d.between(-0.07f, 0.07f);
  hand.shiftY = d.between(-0.07f, 0.07f);
  hand.stroke = d.between(0.06f, 0.12f);
  hand.ink = d.between(0.75f, 1.0f);
  return hand;
}

// Squared distance of every pixel's centre to the nearest stroke, exact where it is below the reach, else
// large.
class DistanceField {
 public:
  DistanceField(std::int64_t width, std::int64_t height, float reach)
      : m_width(width),
        m_height(height),
        m_reach(reach),
        m_squared(static_cast<std::size_t>(width * height), std::numeric_limits<float>::max()) {}

  void add(const Point& a, const Point& b) {
    const float dx = b.x - a.x, dy = b.y - a.y;
    const float perLength = 1 / std::max(dx * dx + dy * dy, 1e-12f);
    const std::int64_t left = lowEnd(std::min(a.x, b.x)), right = highEnd(std::max(a.x, b.x), m_width);
    const std::int64_t top = lowEnd(std::min(a.y, b.y)), bottom = highEnd(std::max(a.y, b.y), m_height);
    for (std::int64_t row = top; row < bottom; ++row) {
      const float py = static_cast<float>(row) + 0.5f - a.y;
      float* squared = m_squared.data() + row * m_width;
      for (std::int64_t column = left; column < right; ++column) {
        const float px = static_cast<float>(column) + 0.5f - a.x;
        const float along = std::clamp((px * dx + py * dy) * perLength, 0.0f, 1.0f);
        const float ex = px - along * dx, ey = py - along * dy;
        squared[column] = std::min(squared[column], ex * ex + ey * ey);
      }
    }
  }

  const std::vector<float>& squared() const { return m_squared; }

 private:
  std::int64_t lowEnd(float at) const {
    return std::max<std::int64_t>(0, static_cast<std::int64_t>(at - m_reach));
  }
  std::int64_t highEnd(float at, std::int64_t size) const {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(at + m_reach) + 1, 0, size);
  }

  std::int64_t m_width, m_height;
  float m_reach;
  std::vector<float> m_squared;
};

class Digits : public ImageSource {
 public:
  Digits(std::uint64_t seed, const ImageSpec& image) : m_seed(seed), m_image(image) {}
  std::int64_t samples() const override { return kEpoch; }
  bool endless() const override { return true; }
  std::string describe(std::int64_t samples) const override {
    return "digits, drawn with seed " + std::to_string(m_seed) + ", " + std::to_string(samples) + " an epoch";
  }

  ImageSpec size() const override { return {1, m_image.height, m_image.width}; }
  std::uint8_t draw(std::int64_t index, std::span<std::uint8_t> image) const override {
    const RandomStream stream(m_seed, "digits", index);
    const int digit = static_cast<int>(std::uint64_t{stream.bits(0)} * 10 >> 32);
    const Hand hand = drawHand(stream);
    const float side = static_cast<float>(std::min(m_image.width, m_image.height));
    const float radius = std::max(hand.stroke * side / 2, 0.5f);
    DistanceField field(m_image.width, m_image.height, radius + 0.5f);
    for (const Segment& segment : digitGlyph(digit))
      field.add(place(segment.a, hand, side), place(segment.b, hand, side));
    fill(image, field, radius, hand.ink, stream);
    return static_cast<std::uint8_t>(digit);
  }

 private:
  Point place(Point p, const Hand& hand, float side) const {
    const float y = (p.y - 0.5f) * hand.height;
    const float x = (p.x - 0.5f) * hand.width - y * hand.slant;
    const float turnedX = hand.cosine * x - hand.sine * y, turnedY = hand.sine * x + hand.cosine * y;
    return {static_cast<float>(m_image.width) / 2 + side * (turnedX + hand.shiftX),
            static_cast<float>(m_image.height) / 2 + side * (turnedY + hand.shiftY)};
  }

  // Ink where the line covers the pixel (half covered at the radius), plus noise; a byte, as in scanned
  // images.
  static void fill(std::span<std::uint8_t> image, const DistanceField& field, float radius, float ink,
                   const RandomStream& stream) {
    constexpr std::uint64_t kFirst = 64;  // beyond what drawHand uses
    const float reach = radius + 0.5f;
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < image.size(); ++i) {
      if (i % 4 == 0) bits = stream.bits(kFirst + i / 4);  // a byte a pixel
      const float squared = field.squared()[i];
      const float drawn = squared < reach * reach ? ink * std::min(reach - std::sqrt(squared), 1.0f) : 0.0f;
      const float noise = kNoise * (static_cast<float>(bits & 255) - 127.5f) / 255;
      image[i] = static_cast<std::uint8_t>(255 * std::clamp(drawn + noise, 0.0f, 1.0f) + 0.5f);
      bits >>= 8;
    }
  }

  std::uint64_t m_seed;
  ImageSpec m_image;
};

}  // namespace

std::unique_ptr<ImageSource> makeDigits(std::uint64_t seed, const ImageSpec& image) {
  return std::make_unique<Digits>(seed, image);
}

}  // namespace msdbg::core

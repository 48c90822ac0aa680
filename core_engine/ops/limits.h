// Limits that let NaN through: comparisons with NaN are false, and then the number itself comes out. Pure
// functions.
#pragma once

namespace msdbg::core {

template <typename T>
T clamped(T x, T low, T high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}
/// Strictly between, or not a number: where the derivative of a clamp is that of what it clamps.
template <typename T>
bool isInside(T x, T low, T high) {
  return !(x <= low) && !(x >= high);
}

}  // namespace msdbg::core

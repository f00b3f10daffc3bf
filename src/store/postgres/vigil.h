// Vigil: whether to wait for an answer awake. To be put to sleep and woken again takes a good part
// of a commit on a fast disk; but who waits awake for a slow one takes a processor from others. So
// it is learnt from how long the last answers took. Value type; time and waiting are the caller's.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace pawl::store::pg {

class Vigil {
 public:
  static constexpr std::chrono::microseconds kLimit{300};
  // Answers that are slept for, at most, before it is tried again.
  static constexpr std::uint32_t kSkippedMax = 1023;

  // How long to stay awake for the next answer; zero: not at all.
  std::chrono::microseconds begin() {
    if (left_to_skip_ == 0) {
      return kLimit;
    }
    --left_to_skip_;
    return std::chrono::microseconds::zero();
  }
  // After one that was kept.
  void end(bool has_come) {
    skipped_ = has_come ? 0 : std::min(2 * skipped_ + 1, kSkippedMax);
    left_to_skip_ = skipped_;
  }

 private:
  std::uint32_t skipped_ = 0;  // After the last one.
  std::uint32_t left_to_skip_ = 0;
};

}  // namespace pawl::store::pg

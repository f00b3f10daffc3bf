// GrowingPause: how long to wait before the next attempt to connect. Value type.
#pragma once

#include <algorithm>
#include <cstdint>

namespace pawl::store::pg {

class GrowingPause {
 public:
  static constexpr std::int64_t kFirstMs = 50;
  static constexpr std::int64_t kMaxMs = 5'000;

  // Twice the one before, up to kMaxMs.
  std::int64_t next_ms() {
    pause_ms_ = std::clamp(pause_ms_ * 2, kFirstMs, kMaxMs);
    return pause_ms_;
  }
  // After a success.
  void reset() { pause_ms_ = 0; }

 private:
  std::int64_t pause_ms_ = 0;
};

}  // namespace pawl::store::pg

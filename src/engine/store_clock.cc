#include "engine/store_clock.h"

#include <chrono>
#include <cstdlib>

namespace pawl::engine {

Result<bool> follow_clock(store::Store& store, Environment& environment) {
  const auto asked = std::chrono::steady_clock::now();
  PAWL_TRY_ASSIGN(const std::optional<std::int64_t> told_ms, store.read_clock());
  if (!told_ms) {
    return false;
  }
  const auto took = std::chrono::steady_clock::now() - asked;
  const std::int64_t half_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(took).count() / 2;
  const std::int64_t server_ms = *told_ms + half_ms;
  if (std::abs(server_ms - environment.now_ms()) > half_ms + 1) {
    environment.set_clock(server_ms);
  }
  return true;
}

}  // namespace pawl::engine

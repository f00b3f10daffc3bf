// Loaded before libc: the wall clock of the process is wrong by PAWL_SKEW_S seconds. Nothing else
// changes; the clock that only runs forward goes on as it is.
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>

#include <cstdlib>

namespace {

time_t skew() {
  static const time_t seconds = [] {
    const char* const given = std::getenv("PAWL_SKEW_S");
    return given == nullptr ? time_t{0} : static_cast<time_t>(std::atoll(given));
  }();
  return seconds;
}

template <class F>
F* next(const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, struct timespec* time) noexcept {
  static const auto real = next<int(clockid_t, struct timespec*)>("clock_gettime");
  const int done = real(clock, time);
  if (done == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    time->tv_sec += skew();
  }
  return done;
}

int gettimeofday(struct timeval* time, void* zone) noexcept {
  static const auto real = next<int(struct timeval*, void*)>("gettimeofday");
  const int done = real(time, zone);
  if (done == 0) {
    time->tv_sec += skew();
  }
  return done;
}

time_t time(time_t* out) noexcept {
  static const auto real = next<time_t(time_t*)>("time");
  const time_t now = real(nullptr) + skew();
  if (out != nullptr) {
    *out = now;
  }
  return now;
}

}  // extern "C"

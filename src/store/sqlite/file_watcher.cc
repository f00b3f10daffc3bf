#include "store/sqlite/file_watcher.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>

namespace pawl::store {

namespace {

// SQLite writes a commit, syncs it to disk, and only then lets others see it.
constexpr std::array<int, 3> kAgainMs = {20, 200, 2000};

}  // namespace

class FileWatcher::Impl {
 public:
  explicit Impl(const std::string& path)
      : changes_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)), stop_(::eventfd(0, EFD_CLOEXEC)) {
    is_watching_ =
        changes_ >= 0 && stop_ >= 0 && ::inotify_add_watch(changes_, path.c_str(), IN_MODIFY) >= 0;
  }

  ~Impl() {
    if (thread_.joinable()) {
      const std::uint64_t one = 1;
      while (::write(stop_, &one, sizeof(one)) < 0 && errno == EINTR) {
      }
      thread_.join();
    }
    for (const int file : {changes_, stop_}) {
      if (file >= 0) {
        ::close(file);
      }
    }
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void start(std::function<void()> on_written, Tell tell) {
    if (is_watching_) {
      is_told_again_ = tell == Tell::kAgain;
      callback_ = std::move(on_written);
      thread_ = std::thread([this] { run(); });
    }
  }

 private:
  void run() {
    std::array<pollfd, 2> files = {{{changes_, POLLIN, 0}, {stop_, POLLIN, 0}}};
    std::size_t again = kAgainMs.size();
    while (true) {
      const int wait_ms = again < kAgainMs.size() ? kAgainMs[again] : -1;
      const int ready = ::poll(files.data(), files.size(), wait_ms);
      if (ready < 0 && errno != EINTR) {
        return;
      }
      if (ready > 0 && files[1].revents != 0) {
        return;
      }
      if (ready > 0 && files[0].revents != 0) {
        drain();
        callback_();
        again = is_told_again_ ? 0 : kAgainMs.size();
      } else if (ready == 0) {
        callback_();
        ++again;
      }
    }
  }

  // All notices up to now count as one.
  void drain() {
    alignas(inotify_event) std::array<char, 4096> events;
    while (::read(changes_, events.data(), events.size()) > 0) {
    }
  }

  const int changes_;
  const int stop_;
  bool is_watching_ = false;
  bool is_told_again_ = false;
  std::function<void()> callback_;
  std::thread thread_;
};

FileWatcher::FileWatcher(const std::string& path) : impl_(std::make_unique<Impl>(path)) {}
FileWatcher::~FileWatcher() = default;
void FileWatcher::start(std::function<void()> on_written, Tell tell) {
  impl_->start(std::move(on_written), tell);
}

}  // namespace pawl::store

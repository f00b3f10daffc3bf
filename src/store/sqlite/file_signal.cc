#include "store/sqlite/file_signal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

namespace pawl::store {

namespace {

class File {
 public:
  explicit File(int number) : number_(number) {}
  ~File() {
    if (number_ >= 0) {
      ::close(number_);
    }
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }

 private:
  int number_;
};

// A thread that calls back whenever the file has been written to.
class Watcher {
 public:
  Watcher(const std::string& path, std::function<void()> callback)
      : changes_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
        stop_(::eventfd(0, EFD_CLOEXEC)),
        callback_(std::move(callback)) {
    if (changes_.is_open() && stop_.is_open() &&
        ::inotify_add_watch(changes_.number(), path.c_str(), IN_MODIFY) >= 0) {
      thread_ = std::thread([this] { run(); });
    }
  }

  ~Watcher() {
    if (thread_.joinable()) {
      const std::uint64_t one = 1;
      while (::write(stop_.number(), &one, sizeof(one)) < 0 && errno == EINTR) {
      }
      thread_.join();
    }
  }

  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

 private:
  void run() {
    std::array<pollfd, 2> files = {{{changes_.number(), POLLIN, 0}, {stop_.number(), POLLIN, 0}}};
    while (true) {
      const int ready = ::poll(files.data(), files.size(), -1);
      if (ready < 0 && errno != EINTR) {
        return;
      }
      if (ready > 0 && files[1].revents != 0) {
        return;
      }
      if (ready > 0 && files[0].revents != 0) {
        drain();
        callback_();
      }
    }
  }

  // All notices up to now count as one.
  void drain() {
    alignas(inotify_event) std::array<char, 4096> events;
    while (::read(changes_.number(), events.data(), events.size()) > 0) {
    }
  }

  File changes_;
  File stop_;
  std::function<void()> callback_;
  std::thread thread_;
};

class FileSignal : public ChangeSignal {
 public:
  FileSignal(int file, std::string path) : file_(file), path_(std::move(path)) {}

  // A notice that gets lost (no space, for one) delays others until their next deadline, no more.
  void notify() override {
    const char byte = 1;
    while (::pwrite(file_.number(), &byte, 1, 0) < 0 && errno == EINTR) {
    }
  }

  void watch(std::function<void()> callback) override {
    const std::scoped_lock lock(mutex_);
    watcher_.reset();
    if (callback) {
      watcher_ = std::make_unique<Watcher>(path_, std::move(callback));
    }
  }

 private:
  File file_;
  std::string path_;
  std::mutex mutex_;
  std::unique_ptr<Watcher> watcher_;
};

}  // namespace

Result<std::unique_ptr<ChangeSignal>> open_file_signal(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) {
    return make_error(
        ErrorCode::kStoreUnusable,
        "cannot open '" + path + "', by which changes are told: " + std::strerror(errno));
  }
  return std::unique_ptr<ChangeSignal>(std::make_unique<FileSignal>(file, path));
}

}  // namespace pawl::store

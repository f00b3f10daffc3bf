#include "store/sqlite/file_signal.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "store/sqlite/file_watcher.h"

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

// Of stores that are open on one database at a time. More than that share the last one, and are
// told of one another's changes by luck, and of their own.
constexpr std::size_t kSlots = 4096;
using Counters = std::vector<std::uint64_t>;

// A counter that no other store has, by a lock on one byte.
std::size_t take_slot(const File& file) {
  for (std::size_t slot = 0; slot + 1 < kSlots; ++slot) {
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = static_cast<off_t>(slot);
    lock.l_len = 1;
    if (::fcntl(file.number(), F_OFD_SETLK, &lock) == 0) {
      return slot;
    }
    if (errno != EAGAIN && errno != EACCES) {
      break;
    }
  }
  return kSlots - 1;
}

Counters read_counters(const File& file) {
  Counters counters(kSlots);
  const ssize_t size =
      ::pread(file.number(), counters.data(), counters.size() * sizeof(std::uint64_t), 0);
  counters.resize(size > 0 ? static_cast<std::size_t>(size) / sizeof(std::uint64_t) : 0);
  return counters;
}

bool is_changed(const Counters& before, const Counters& now, std::size_t own_slot) {
  for (std::size_t i = 0; i < now.size(); ++i) {
    const std::uint64_t old = i < before.size() ? before[i] : 0;
    if (now[i] != old && (i != own_slot || own_slot == kSlots - 1)) {
      return true;
    }
  }
  return false;
}

// Calls back whenever a counter but the own one has changed.
class CounterWatcher {
 public:
  CounterWatcher(const File& file, const std::string& path, std::size_t own_slot,
                 std::function<void()> callback)
      : file_(file), own_slot_(own_slot), callback_(std::move(callback)), watcher_(path) {
    seen_ = read_counters(file_);  // After the watch began: no change is lost in between.
    watcher_.start([this] { look(); });
  }

 private:
  void look() {
    Counters now = read_counters(file_);
    const bool is_new = is_changed(seen_, now, own_slot_);
    seen_ = std::move(now);
    if (is_new) {
      callback_();
    }
  }

  const File& file_;
  std::size_t own_slot_;
  std::function<void()> callback_;
  Counters seen_;
  FileWatcher watcher_;
};

class FileSignal : public ChangeSignal {
 public:
  FileSignal(int file, std::string path)
      : file_(file), path_(std::move(path)), slot_(take_slot(file_)) {
    const Counters counters = read_counters(file_);
    count_ = slot_ < counters.size() ? counters[slot_] : 0;
  }

  // A notice that gets lost (no space, for one) delays others until their next deadline, no more.
  void notify() override {
    const std::uint64_t count = ++count_;
    const auto offset = static_cast<off_t>(slot_ * sizeof(count));
    while (::pwrite(file_.number(), &count, sizeof(count), offset) < 0 && errno == EINTR) {
    }
  }

  void watch(std::function<void()> callback) override {
    const std::scoped_lock lock(mutex_);
    watcher_.reset();
    if (callback) {
      watcher_ = std::make_unique<CounterWatcher>(file_, path_, slot_, std::move(callback));
    }
  }

 private:
  File file_;
  std::string path_;
  std::size_t slot_;
  std::atomic<std::uint64_t> count_ = 0;
  std::mutex mutex_;
  std::unique_ptr<CounterWatcher> watcher_;
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

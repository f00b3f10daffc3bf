// FileWatcher: a thread that sleeps in the kernel until a file is written to, and calls back.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace pawl::store {

class FileWatcher {
 public:
  // What is written to the file from now on is noticed; of a file that is not there, or is removed
  // later, nothing is.
  explicit FileWatcher(const std::string& path);
  ~FileWatcher();
  FileWatcher(const FileWatcher&) = delete;
  FileWatcher& operator=(const FileWatcher&) = delete;

  enum class Tell : std::uint8_t {
    kOnce,
    kAgain,  // And again after a moment, for what readers see only some time after the write.
  };
  // Once. Several writes may be told as one. When the watcher is gone, the callback is not running
  // and will not be called again; it must not be ended by a callback.
  void start(std::function<void()> on_written, Tell tell = Tell::kOnce);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pawl::store

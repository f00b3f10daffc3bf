// Process: a program that was started, which can be told things and be killed. It does not outlive
// the thread that has started it. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace pawl::fleet {

class Process {
 public:
  struct Options {
    std::vector<std::string> command;
    std::vector<std::pair<std::string, std::string>> environment;  // Besides what there is.
    std::string errors;  // A file; what it writes to standard error is added there.
    std::function<void(const std::string& line)> on_line;  // It said this. From another thread.
  };
  explicit Process(const Options& options);
  ~Process();  // Kills it.
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void tell(const std::string& line) const;  // Nobody hears it if it has ended.
  void signal(int number) const;
  bool has_ended();  // By itself.
  void kill();
  // Ends its input, and waits for it. Returns its exit code, or -1 if it had to be killed.
  int end(int patience_s);

 private:
  void reap();

  pid_t pid_ = 0;
  int input_ = -1;
  int output_ = -1;
  int status_ = 0;
  std::thread reader_;
};

}  // namespace pawl::fleet

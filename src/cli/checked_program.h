// CheckedProgram: a program that calls pawl::answer_check(), started as a process of its own and
// asked about one run after the other. docs/checking.md has the lines that pass between the two.
// Each is used by one thread. Signals that end this process end them, too.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "base/result.h"

namespace pawl::cli {

// In one process at a time.
inline constexpr std::size_t kCheckedProgramsMax = 64;

class CheckedProgram {
 public:
  // `command`: the program, found as a shell finds it, and its arguments. `timeout` is for each
  // answer.
  CheckedProgram(std::vector<std::string> command, std::chrono::milliseconds timeout);
  // Ends the process.
  ~CheckedProgram();
  CheckedProgram(const CheckedProgram&) = delete;
  CheckedProgram& operator=(const CheckedProgram&) = delete;

  // Starts the process and waits until it says what it has. kInvalidState: it cannot be started, or
  // does not answer.
  Result<void> start();

  struct Reply {
    // The answer, or what came before the process ended or was ended; empty if nothing did.
    boost::json::object answer;
    // Why that is not all: "it ended by signal 11 (Segmentation fault)". Empty: it is.
    std::string trouble;
  };
  // Asks about a run; a line without a break. Starts the process again if it has ended. Errors as
  // of start().
  Result<Reply> ask(std::string_view request);

  // The last lines that it printed since it was asked, or started; indented, without control
  // characters.
  std::string printed() const;

 private:
  enum class Event { kLine, kClosed, kTimeout };

  Event exchange(std::string& line);
  Result<void> spawn();
  Result<void> read_hello();
  // Ends the process; how it ended, if it did so by itself.
  std::string stop(std::chrono::milliseconds patience);
  void read_output();

  const std::vector<std::string> command_;
  const std::chrono::milliseconds timeout_;
  int process_ = -1;
  int requests_ = -1;
  int answers_ = -1;
  int output_ = -1;
  std::string_view unsent_;
  std::string received_;
  std::size_t searched_ = 0;  // There is no line break before.
  std::string output_tail_;
};

}  // namespace pawl::cli

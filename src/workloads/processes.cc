#include "workloads/processes.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "pawl/pawl.hpp"
#include "workloads/subject.h"

namespace pawl::workloads {

namespace {

// A member says that it is ready, is told to begin, and says that it is done: a byte each.
constexpr char kReady = 'r';
constexpr char kBegin = 'b';
constexpr char kDone = 'd';

bool read_byte(int file, char expected) {
  char byte = 0;
  ssize_t count = 0;
  do {
    count = read(file, &byte, 1);
  } while (count < 0 && errno == EINTR);
  return count == 1 && byte == expected;
}

bool write_byte(int file, char byte) {
  ssize_t count = 0;
  do {
    count = write(file, &byte, 1);
  } while (count < 0 && errno == EINTR);
  return count == 1;
}

// `whole` in as many parts as there are, as equal as can be: this one.
std::size_t part_of(std::size_t whole, std::size_t parts, std::size_t part) {
  return whole * (part + 1) / parts - whole * part / parts;
}

}  // namespace

Result<double> run_fleet(Workspace& workspace, const FleetLoad& load) {
  std::vector<Workspace::Child> members;
  const auto end = [&](bool is_good) -> Result<void> {
    for (Workspace::Child& member : members) {
      const int status = workspace.wait(member);
      is_good = is_good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    return is_good ? Result<void>()
                   : make_error(ErrorCode::kStoreIo, "a process of the fleet has failed");
  };
  Result<void> started;
  for (std::size_t i = 0; i < load.processes && started; ++i) {
    const std::size_t concurrency =
        std::max<std::size_t>(1, part_of(load.concurrency, load.processes, i));
    Result<Workspace::Child> member = workspace.start(
        {load.program, std::string(kMember), load.url, "w7-" + std::to_string(i) + "-",
         std::to_string(part_of(load.runs, load.processes, i)), std::to_string(load.steps),
         std::to_string(concurrency)},
        Workspace::Talks::kYes);
    if (member) {
      members.push_back(*member);
    } else {
      started = member.error();
    }
  }
  if (!started) {
    static_cast<void>(end(false));  // They end when they are told nothing.
    return started.error();
  }
  const auto all = [&](const auto& is_good) {
    return std::all_of(members.begin(), members.end(), is_good);
  };
  const bool are_ready =
      all([](const Workspace::Child& member) { return read_byte(member.from, kReady); });
  const auto begun = Clock::now();
  const bool are_done =
      are_ready &&
      all([](const Workspace::Child& member) { return write_byte(member.to, kBegin); }) &&
      all([](const Workspace::Child& member) { return read_byte(member.from, kDone); });
  const double secs = seconds_since(begun);
  PAWL_TRY(end(are_done));
  return secs;
}

// URL, prefix of the runs' ids, runs, steps, concurrency.
int run_bench_member(const std::vector<std::string>& arguments) {
  const auto number = [&](std::size_t index) { return std::stoull(arguments.at(index)); };
  const std::size_t runs = number(2);
  const std::size_t steps = number(3);
  try {
    Subject subject(arguments.at(0));
    if (!write_byte(1, kReady) || !read_byte(0, kBegin)) {
      return 1;  // Whoever has started it is gone.
    }
    const Result<void> done =
        subject.run(steps_load(arguments.at(1), first_numbers(runs), steps, number(4)));
    if (done) {
      return write_byte(1, kDone) ? 0 : 1;
    }
    std::fprintf(stderr, "pawl bench: %s\n", done.error().message.c_str());
  } catch (const Exception& error) {
    std::fprintf(stderr, "pawl bench: %s\n", error.what());
  }
  return 1;
}

}  // namespace pawl::workloads

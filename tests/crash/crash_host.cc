// A process that may be killed: it runs one reference workflow on a database, plays the outside
// world for it, and says how it went. Whoever starts it again on the same database goes on with it.
//
//   crash_host list                              the workflows: name, isRegular, expected; JSON,
//   one per line crash_host make DB                           makes an empty database crash_host
//   dump DB WORKFLOW                  what is in a database, as JSON; works on a copy crash_host
//   play DB NOTES WORKFLOW [RELEASE]  WORKFLOW counts from 0
//
// What `play` says, a line at a time:
//
//   before JSON      what was in the database, as inspect() has it; if there was one
//   started          the call that starts the run has returned
//   error TEXT       a call has failed, because the store did; it is made again
//   result JSON
//   boundaries N     that the whole has passed
//   failures N       boundaries that have failed
//   final JSON       what is in the database in the end
//
// PAWL_FAULT_KILL_AT=N ends it by SIGKILL at the N-th boundary. PAWL_FAULT_FAIL="io 7 9" lets those
// from the 7th to the 9th fail; also "full" and "torn".
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

#include "crash/inspect.h"
#include "crash/workflows.h"
#include "faults/fault_vfs.h"
#include "store/sqlite/sqlite_store.h"

namespace pawl::crash {

namespace {

// At once: what has been said must not be lost with the process.
void say(const std::string& what) {
  const std::string line = what + "\n";
  if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    std::_Exit(3);
  }
}

std::vector<std::string> ids_of(const Reference& reference) {
  std::vector<std::string> ids = reference.other_ids;
  ids.insert(ids.begin(), reference.id);
  return ids;
}

// The original is left alone: to come up from it is the engine's business.
nlohmann::json inspect_copy(const std::string& path, const Reference& reference) {
  const std::string copy = path + ".copy";
  copy_database(path, copy);
  nlohmann::json found = inspect(copy, ids_of(reference), false);
  for (const char* suffix : {"", "-journal", "-wal", "-shm", "-workers", "-notify"}) {
    std::filesystem::remove(copy + suffix);
  }
  return found;
}

void fail_as_told() {
  const char* const told = std::getenv("PAWL_FAULT_FAIL");
  if (told == nullptr) {
    return;
  }
  std::istringstream words(told);
  std::string kind;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  words >> kind >> first >> last;
  faults::fail_boundaries(first, last,
                          kind == "full"   ? faults::Fault::kFull
                          : kind == "torn" ? faults::Fault::kTornWrite
                                           : faults::Fault::kIo);
}

// All that a client does may be done again. The engine does so by itself.
template <class Call>
auto despite_errors(const Call& call) {
  while (true) {
    try {
      return call();
    } catch (const StoreError& error) {
      say(std::string("error ") + error.what());
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
}

void play(const std::string& path, const std::string& notes, const Reference& reference,
          int release) {
  if (std::filesystem::exists(path)) {
    say("before " + inspect_copy(path, reference).dump());
  }
  note_attempts_in(notes);
  faults::register_fault_vfs(/*as_default=*/true);
  fail_as_told();
  {
    const std::unique_ptr<Engine> opened = despite_errors([&] {
      return std::make_unique<Engine>("sqlite:" + path, make_registry(release), engine_options());
    });
    Engine& engine = *opened;
    const Handle handle = despite_errors([&] { return reference.start(engine); });
    say("started");
    const std::string result = despite_errors([&] {
      if (reference.play) {
        reference.play(engine);
      }
      return outcome_of(handle) + (reference.look ? reference.look(engine) : "");
    });
    say("result " + nlohmann::json(result).dump());
  }
  say("boundaries " + std::to_string(faults::boundary_count()));
  say("failures " + std::to_string(faults::failure_count()));
  say("final " + inspect(path, ids_of(reference), true).dump());
}

void make(const std::string& path) {
  store::SqliteOptions options;
  options.path = path;
  const auto made = store::open_sqlite(options);
  if (!made) {
    throw std::runtime_error(made.error().message);
  }
}

int run(const std::vector<std::string>& args) {
  const std::string command = args.empty() ? "" : args[0];
  const auto reference = [&](std::size_t at) -> const Reference& {
    return references().at(static_cast<std::size_t>(std::stoul(args.at(at))));
  };
  if (command == "list") {
    for (const Reference& each : references()) {
      say(nlohmann::json{
          {"name", each.name}, {"isRegular", each.is_regular}, {"expected", each.expected}}
              .dump());
    }
  } else if (command == "make") {
    make(args.at(1));
  } else if (command == "dump") {
    say(inspect_copy(args.at(1), reference(2)).dump(2));
  } else if (command == "play") {
    play(args.at(1), args.at(2), reference(3), args.size() > 4 ? std::stoi(args[4]) : 1);
  } else {
    std::cerr << "usage: crash_host list | make DB | dump DB WORKFLOW | play DB NOTES WORKFLOW "
                 "[RELEASE]\n";
    return 2;
  }
  return 0;
}

}  // namespace

}  // namespace pawl::crash

int main(int argc, char** argv) {
  try {
    return pawl::crash::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "crash_host: " << error.what() << "\n";
    return 1;
  }
}

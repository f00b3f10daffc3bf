// One of several processes on one database.
//
//   fleet_host work DB NOTES NAME COUNT   a worker: starts the runs NAME/0 … and works until it is
//   told
//                                         to stop by the end of its input
//   fleet_host send DB COUNT NAME…        sends each of these runs the signal it waits for
//   fleet_host wait DB COUNT NAME…        waits for the end of them
//   fleet_host check DB COUNT NAME…       when nobody works any more: problems, one per line
//   fleet_host ping DB COUNT              starts runs that wait for a signal, sends it, waits for
//   the
//                                         end; prints how long that took, in microseconds
//
// All but the worker only call: they take no runs.
#include <sqlite3.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <iostream>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "crash/inspect.h"
#include "crash/workflows.h"

namespace pawl::crash {

namespace {

using std::chrono::milliseconds;

Workflow<std::string> parcel(Context ctx) {
  const std::string packed = co_await ctx.run("pack", [](Activity& activity) {
    note(activity);
    std::this_thread::sleep_for(milliseconds(4));
    return std::string("packed");
  });
  const int grams = co_await ctx.schedule<int>("weigh");
  co_await ctx.signal("go");
  co_await ctx.sleep(milliseconds(5));
  const std::string id = ctx.info().id;
  co_await ctx.transact("deliver", [id](Transaction& tx) {
    tx.exec("CREATE TABLE IF NOT EXISTS crash_delivered(id TEXT NOT NULL)");
    tx.exec("INSERT INTO crash_delivered VALUES(?)", {id});
  });
  co_return packed + " " + std::to_string(grams);
}

Workflow<std::string> ping(Context ctx) {
  co_await ctx.signal("ping");
  co_return "pong";
}

Registry fleet_registry() {
  Registry registry;
  registry.workflow("parcel", parcel);
  registry.workflow("ping", ping);
  registry.activity("weigh", [](Activity& activity) {
    note(activity);
    std::this_thread::sleep_for(milliseconds(20));
    return 500;
  });
  return registry;
}

EngineOptions fleet_options(bool work) {
  EngineOptions options;
  options.work = work;
  options.lease = std::chrono::seconds(1);
  options.activity_threads = 4;
  return options;
}

std::vector<std::string> ids_of(int count, const std::vector<std::string>& names) {
  std::vector<std::string> ids;
  for (int i = 0; i < count; ++i) {
    for (const std::string& name : names) {
      ids.push_back(name + "/" + std::to_string(i));
    }
  }
  return ids;
}

void work(const std::string& url, const std::string& notes, const std::string& name, int count) {
  note_attempts_in(notes);
  Engine engine(url, fleet_registry(), fleet_options(true));
  std::cout << "works" << std::endl;
  for (int i = 0; i < count; ++i) {
    const std::string id = name + "/" + std::to_string(i);
    const bool is_new = engine.start("parcel", id).is_new();
    std::cout << (is_new ? "started " : "found ") << id << std::endl;
  }
  std::cout << "started all" << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) {
  }
}

void send(Engine& engine, const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    wait_until("the run " + id, [&] {
      try {
        engine.get(id).signal("go", 1, {.id = "go"});
        return true;
      } catch (const Closed&) {
        return true;
      } catch (const NotFound&) {
        return false;
      }
    });
  }
}

void wait(Engine& engine, const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    const std::string outcome = outcome_of(engine.get<std::string>(id));
    if (outcome != R"({"result":"packed 500","status":"completed"})") {
      throw std::runtime_error(id + ": " + outcome);
    }
  }
  std::cout << ids.size() << " completed" << std::endl;
}

std::vector<std::string> delivered(const std::string& path) {
  std::vector<std::string> ids;
  sqlite3* db = nullptr;
  if (sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK) {
    sqlite3_exec(
        db, "SELECT id FROM crash_delivered",
        [](void* out, int, char** values, char**) {
          static_cast<std::vector<std::string>*>(out)->emplace_back(values[0]);
          return 0;
        },
        &ids, nullptr);
  }
  sqlite3_close(db);
  return ids;
}

void check(const std::string& path, const std::vector<std::string>& ids) {
  const nlohmann::json found = inspect(path, ids, true);
  for (const auto& problem : found["problems"]) {
    std::cout << problem.get<std::string>() << std::endl;
  }
  if (found["runs"].size() != ids.size()) {
    std::cout << found["runs"].size() << " runs, not " << ids.size() << std::endl;
  }
  const std::vector<std::string> rows = delivered(path);
  if (rows.size() != ids.size() || std::set<std::string>(rows.begin(), rows.end()) !=
                                       std::set<std::string>(ids.begin(), ids.end())) {
    std::cout << rows.size() << " deliveries of " << ids.size() << " parcels" << std::endl;
  }
}

void measure(Engine& engine, int count) {
  for (int i = 0; i < count; ++i) {
    const std::string id = "ping/" + std::to_string(i);
    const Handle run = engine.start<std::string>("ping", id);
    wait_until("the run sleeps", [&] { return run.status() == Status::kWaiting; });
    const auto began = std::chrono::steady_clock::now();
    run.signal("ping");
    run.result_for(std::chrono::seconds(20));
    const auto took = std::chrono::steady_clock::now() - began;
    std::cout << std::chrono::duration_cast<std::chrono::microseconds>(took).count() << std::endl;
  }
}

int run(const std::vector<std::string>& args) {
  const std::string command = args.empty() ? "" : args[0];
  const std::string path = args.size() > 1 ? args[1] : "";
  const std::string url = "sqlite:" + path;
  if (command == "work") {
    work(url, args.at(2), args.at(3), std::stoi(args.at(4)));
    return 0;
  }
  if (command != "send" && command != "wait" && command != "check" && command != "ping") {
    std::cerr << "usage: fleet_host work DB NOTES NAME COUNT | send DB COUNT NAME… | "
                 "wait DB COUNT NAME… | check DB COUNT NAME… | ping DB COUNT\n";
    return 2;
  }
  const int count = std::stoi(args.at(2));
  const std::vector<std::string> ids = ids_of(count, {args.begin() + 3, args.end()});
  if (command == "check") {
    check(path, ids);
    return 0;
  }
  Engine engine(url, fleet_registry(), fleet_options(false));
  if (command == "send") {
    send(engine, ids);
  } else if (command == "wait") {
    wait(engine, ids);
  } else {
    measure(engine, count);
  }
  return 0;
}

}  // namespace

}  // namespace pawl::crash

int main(int argc, char** argv) {
  try {
    return pawl::crash::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "fleet_host: " << error.what() << "\n";
    return 1;
  }
}

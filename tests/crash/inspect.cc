#include "crash/inspect.h"

#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/check.h"
#include "replay/log.h"
#include "store/sqlite/sqlite_store.h"

namespace pawl::crash {

namespace {

using nlohmann::json;
using replay::EntryKind;

template <class T>
T value_of(Result<T> result) {
  if (!result) {
    throw std::runtime_error(result.error().message);
  }
  return std::move(*result);
}

void check(const Result<void>& result) {
  if (!result) {
    throw std::runtime_error(result.error().message);
  }
}

// What an activity has come to, once and for all.
bool is_outcome(std::uint8_t kind) {
  switch (static_cast<EntryKind>(kind)) {
    case EntryKind::kOperationCompleted:
    case EntryKind::kOperationFailed:
    case EntryKind::kTaskCompleted:
    case EntryKind::kTaskFailed:
    case EntryKind::kTaskCancelled:
      return true;
    default:
      return false;
  }
}

class RunReport {
 public:
  RunReport(store::Store& store, const store::RunRow& row, bool is_over, json& whole)
      : store_(store), row_(row), is_over_(is_over), whole_(whole) {}

  json make() {
    json report;
    report["id"] = row_.id;
    report["number"] = row_.number;
    report["status"] = store::status_name(row_.status);
    report["waitingFor"] = row_.waiting_for;
    report["reason"] = value_of(store_.read_reason(row_.key));
    report["tags"] = json::array();
    for (const store::Tag& tag : value_of(store_.read_tags(row_.key))) {
      report["tags"].push_back(tag.name + "=" + tag.value);
    }
    read_entries();
    std::sort(commands_.begin(), commands_.end());
    report["commands"] = commands_;
    report["compensations"] = read_compensations();
    read_open_work();
    return report;
  }

 private:
  void complain(const std::string& what) {
    whole_["problems"].push_back("run '" + row_.id + "' number " + std::to_string(row_.number) +
                                 " (" + std::string(store::status_name(row_.status)) +
                                 "): " + what);
  }

  void read_entries() {
    replay::Log log;
    check(store_.read_log(row_.key, 1, [&](const replay::Entry& entry) -> Result<void> {
      look_at(entry);
      last_kind_ = entry.kind;
      return log.load(entry);
    }));
    if (const Result<void> loaded = log.finish_loading(); !loaded) {
      complain("no log: " + loaded.error().message);
    }
    check(store_.read_forgotten(row_.key, [&](const replay::Entry& entry) -> Result<void> {
      look_at(entry);
      return {};
    }));
    std::uint64_t expected = 1;
    for (const std::uint64_t seq : seqs_) {
      if (seq != expected) {
        complain("entry " + std::to_string(expected) + " is missing");
        break;
      }
      ++expected;
    }
    const bool has_end = replay::find_traits(last_kind_) != nullptr &&
                         replay::traits(last_kind_).role == replay::EntryRole::kEnd;
    const bool should_have =
        store::is_closed(row_.status) || row_.status == store::RunStatus::kCompensating;
    if (has_end != should_have) {
      complain(has_end ? "its log has an end" : "its log has no end");
    }
  }

  void look_at(const replay::Entry& entry) {
    if (!seqs_.insert(entry.seq).second) {
      complain("entry " + std::to_string(entry.seq) + " is there twice");
    }
    if (is_outcome(static_cast<std::uint8_t>(entry.kind))) {
      if (!outcomes_.insert(std::string(entry.id)).second) {
        complain("two outcomes of " + std::string(entry.id));
      }
      whole_["done"].push_back(entry.id);
    }
    const replay::EntryTraits& traits = replay::traits(entry.kind);
    const bool is_command = replay::is_operation_outcome(entry.kind)
                                ? !entry.location.empty()
                                : traits.role == replay::EntryRole::kCommand;
    if (!is_command) {
      return;
    }
    if (!locations_.insert(std::string(entry.location)).second) {
      complain("two commands at " + std::string(entry.location));
    }
    std::string text(replay::label_name(traits.command));
    text += " " + std::string(entry.location) + " " + std::string(entry.name);
    commands_.push_back(std::move(text));
  }

  json read_compensations() {
    json list = json::array();
    for (const store::CompensationRow& row : value_of(store_.read_compensations(row_.key))) {
      constexpr const char* kStates[] = {"open", "done", "failed"};
      list.push_back({{"name", row.name},
                      {"state", kStates[static_cast<int>(row.state)]},
                      {"attempt", row.attempt},
                      {"input", row.input}});
      const std::string key = row_.uuid.to_string() + ":" + std::to_string(row.position);
      if (row.state == store::CompensationState::kOpen) {
        whole_["attempts"][key] = row.attempt;
        if (store::is_closed(row_.status)) {
          complain("compensation '" + row.name + "' is open");
        }
      } else {
        whole_["done"].push_back(key);
      }
    }
    return list;
  }

  void read_open_work() {
    const auto inbox = value_of(store_.read_inbox_of(row_.key));
    for (const store::Arrival& arrival : inbox) {
      if (arrival.kind == store::kRetryOperation) {
        whole_["attempts"][arrival.id] = arrival.number;
      } else if (is_outcome(arrival.kind)) {
        whole_["done"].push_back(arrival.id);
      }
    }
    const auto open_tasks = value_of(store_.read_tasks(row_.key));
    for (const store::TaskRow& task : open_tasks) {
      whole_["attempts"][task.id] = task.attempt;
    }
    if (!store::is_closed(row_.status)) {
      if (is_over_) {
        complain("it is not closed, and waits for '" + row_.waiting_for + "'");
      }
      return;
    }
    if (!inbox.empty()) {
      complain(std::to_string(inbox.size()) + " arrivals are left in its inbox");
    }
    if (!open_tasks.empty()) {
      complain(std::to_string(open_tasks.size()) + " tasks are left");
    }
    if (!value_of(store_.read_promises(row_.key)).empty()) {
      complain("promises are left");
    }
    if (row_.owner != 0) {
      complain("somebody holds it");
    }
  }

  store::Store& store_;
  const store::RunRow& row_;
  const bool is_over_;
  json& whole_;
  std::set<std::uint64_t> seqs_;
  std::set<std::string> locations_;
  std::set<std::string> outcomes_;
  std::vector<std::string> commands_;
  EntryKind last_kind_{};
};

json read_accounts(const std::string& path) {
  json accounts = json::object();
  sqlite3* db = nullptr;
  if (sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, "unix") == SQLITE_OK) {
    sqlite3_exec(
        db, "SELECT name, balance FROM crash_account",
        [](void* out, int, char** values, char**) {
          (*static_cast<json*>(out))[values[0]] = std::stoi(values[1]);
          return 0;
        },
        &accounts, nullptr);
  }
  sqlite3_close(db);
  return accounts;
}

}  // namespace

json inspect(const std::string& path, const std::vector<std::string>& ids, bool is_over) {
  json whole = {{"runs", json::array()},
                {"problems", json::array()},
                {"done", json::array()},
                {"attempts", json::object()}};
  {
    store::SqliteOptions options;
    options.path = path;
    options.vfs = "unix";  // Whatever the default one does to others.
    const std::unique_ptr<store::Store> opened = value_of(store::open_sqlite(options));
    for (const std::string& id : ids) {
      for (std::uint32_t number = 1;; ++number) {
        const auto row = value_of(opened->find_run(id, number));
        if (!row) {
          break;
        }
        whole["runs"].push_back(RunReport(*opened, *row, is_over, whole).make());
      }
    }
  }
  whole["accounts"] = read_accounts(path);
  int sum = 0;
  for (const auto& [name, balance] : whole["accounts"].items()) {
    sum += balance.get<int>();
  }
  if (!whole["accounts"].empty() && sum != 100) {
    whole["problems"].push_back("the accounts hold " + std::to_string(sum) + ", not 100");
  }
  return whole;
}

void copy_database(const std::string& from, const std::string& to) {
  for (const char* suffix : {"", "-journal", "-wal"}) {
    if (std::filesystem::exists(from + suffix)) {
      std::filesystem::copy_file(from + suffix, to + suffix,
                                 std::filesystem::copy_options::overwrite_existing);
    } else {
      std::filesystem::remove(to + suffix);
    }
  }
}

}  // namespace pawl::crash

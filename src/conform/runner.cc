#include "conform/runner.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

#include <boost/json.hpp>

#include "conform/compare.h"
#include "conform/interpreter.h"
#include "conform/scenario.h"
#include "format/json_reader.h"

namespace pawl::conform {

namespace json = boost::json;
namespace fs = std::filesystem;

namespace {

// One line per scenario, whatever its name or message holds.
std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (c == '\n') {
      line += "; ";
    } else if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) {
      line += c;
    }
  }
  return line;
}

class Runner {
 public:
  Runner(const RunOptions& options, std::ostream& out) : options_(options), out_(out) {}

  void run_file(const fs::path& file);
  void fail(const std::string& name, const std::string& what) {
    ++totals_.failed;
    out_ << "FAIL " << one_line(name) << ": " << one_line(what) << '\n';
  }
  Totals totals() const { return totals_; }

 private:
  void run_one(const fs::path& file, const json::value& value, std::size_t position, bool is_list);

  const RunOptions& options_;
  std::ostream& out_;
  Totals totals_;
};

void Runner::run_file(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error)) {
    fail(file.string(), "there is no such file");
    return;
  }
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream content;
  if (!stream || fs::is_directory(file, error) || !(content << stream.rdbuf())) {
    fail(file.string(), fs::file_size(file, error) == 0 ? "the file is empty" : "cannot be read");
    return;
  }
  const Result<json::value> value = format::parse_json(content.str());
  if (!value) {
    fail(file.string(), value.error().message);
    return;
  }
  if (const json::array* list = value->if_array()) {
    if (list->empty()) {
      fail(file.string(), "holds no scenario");
    }
    for (std::size_t i = 0; i < list->size(); ++i) {
      run_one(file, (*list)[i], i, true);
    }
    return;
  }
  run_one(file, *value, 0, false);
}

void Runner::run_one(const fs::path& file, const json::value& value, std::size_t position,
                     bool is_list) {
  std::string name = file.string() + (is_list ? "[" + std::to_string(position) + "]" : "");
  const std::string place = name;
  if (const json::object* object = value.if_object()) {
    const json::value* given = object->if_contains("name");
    if (given != nullptr && given->is_string() && !given->get_string().empty()) {
      name = std::string(std::string_view(given->get_string()));
    }
  }
  const auto broken = [&](const Error& error) {
    fail(name, name == place ? error.message : place + ": " + error.message);
  };
  const Result<Scenario> scenario = read_scenario(value);
  if (!scenario) {
    broken(scenario.error());
    return;
  }
  if (!scenario->has_expect && !options_.print) {
    broken(format::bad_field("expect", "missing (--print shows the actual outcome)"));
    return;
  }
  Result<json::object> actual = run_scenario(*scenario);
  if (!actual) {
    broken(actual.error());
    return;
  }
  std::vector<std::string> differences;
  if (scenario->has_expect) {
    differences = compare(scenario->expect, *actual);
  }
  if (differences.empty()) {
    ++totals_.passed;
    out_ << "ok " << one_line(name) << '\n';
  } else {
    std::string all;
    for (const std::string& difference : differences) {
      all += all.empty() ? "" : "; ";
      all += difference;
    }
    fail(name, all);
  }
  if (options_.print) {
    // In the form of `expect`: the message as a text that must occur.
    if (json::value* error = actual->if_contains("error")) {
      json::object& fields = error->get_object();
      fields["contains"] = json::array{fields.at("message")};
      fields.erase("message");
    }
    actual->erase("forgotten");
    out_ << json::serialize(*actual) << '\n';
  }
}

}  // namespace

Totals run_files(const std::vector<fs::path>& paths, const RunOptions& options, std::ostream& out) {
  Runner runner(options, out);
  for (const fs::path& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      runner.run_file(path);
      continue;
    }
    std::vector<fs::path> files;
    fs::recursive_directory_iterator entries(path, error);
    for (; !error && entries != fs::recursive_directory_iterator(); entries.increment(error)) {
      if (entries->path().extension() == ".json" && !entries->is_directory()) {
        files.push_back(entries->path());
      }
    }
    if (error) {
      runner.fail(path.string(), "cannot be read: " + error.message());
      continue;
    }
    if (files.empty()) {
      runner.fail(path.string(), "holds no .json file");
    }
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) {
      runner.run_file(file);
    }
  }
  return runner.totals();
}

}  // namespace pawl::conform

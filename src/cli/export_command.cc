// pawl export
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/files.h"
#include "cli/find_run.h"
#include "cli/progress.h"
#include "cli/run_filter.h"
#include "cli/store_access.h"
#include "portable/run_document.h"

namespace pawl::cli {

namespace {

constexpr std::size_t kNameBytesMax = 150;

struct Arguments {
  RunName run;
  std::string file;
  std::string directory;
  FilterArguments filter;
  bool all = false;
};

// "order-17.1.json". Other characters than plain ones are written as %2F; an id that is too long
// for a file is cut, and the run id stands for the rest.
std::string file_name(const store::RunRow& row) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string name;
  for (const char c : row.id) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_hidden = name.empty() && c == '.';
    if (kPlain.find(c) != std::string_view::npos && !is_hidden) {
      name += c;
    } else {
      name += {'%', kDigits[byte >> 4U], kDigits[byte & 0xfU]};
    }
  }
  if (name.size() > kNameBytesMax) {
    name.resize(kNameBytesMax);
    name += "." + row.uuid.to_string();
  }
  return name + "." + std::to_string(row.number) + ".json";
}

Result<int> export_one(Console& console, const Arguments& arguments) {
  PAWL_TRY_ASSIGN(const auto store, open_store(console, Access::kLook));
  PAWL_TRY_ASSIGN(const store::RunRow row, find_run(*store, arguments.run, Match::kPrefix));
  PAWL_TRY_ASSIGN(const portable::RunDocument document, portable::read_document(*store, row.key));
  const std::string text = portable::to_json(document);
  if (arguments.file.empty() || arguments.file == "-") {
    console.print(text);
    return kExitOk;
  }
  PAWL_TRY(write_file(arguments.file, text));
  return kExitOk;
}

Result<int> export_matching(Console& console, const Arguments& arguments) {
  PAWL_TRY_ASSIGN(const view::RunQuery query, make_query(arguments.filter, console));
  PAWL_TRY_ASSIGN(const auto store, open_store(console, Access::kLook));
  const std::filesystem::path directory = arguments.directory;
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return make_error(ErrorCode::kInvalidState,
                      "'" + arguments.directory + "': " + error.message());
  }
  PAWL_TRY_ASSIGN(const std::int64_t total, count_matching(console, *store, query));
  Progress progress(console, "exporting", total);
  std::int64_t count = 0;
  PAWL_TRY(search_runs(*store, query, {}, [&](const store::RunRow& row) -> Result<bool> {
    const Result<portable::RunDocument> document = portable::read_document(*store, row.key);
    if (!document && document.error().code == ErrorCode::kNotFound) {
      return true;  // Deleted since.
    }
    if (!document) {
      return document.error();
    }
    PAWL_TRY(write_file((directory / file_name(row)).string(), portable::to_json(*document)));
    progress.show(++count);
    return true;
  }));
  console.print("exported " + std::to_string(count) + "\n");
  return kExitOk;
}

Result<int> run(Console& console, const Arguments& arguments) {
  const bool has_filter = arguments.all || !arguments.filter.is_empty();
  if (arguments.run.id.empty() == !has_filter) {
    return make_error(ErrorCode::kInvalidArgument,
                      has_filter ? "either name a run or give a filter, not both"
                                 : "name a run, or say which by a filter such as --status open; "
                                   "--all means every one");
  }
  if (!has_filter) {
    return arguments.directory.empty()
               ? export_one(console, arguments)
               : Result<int>(make_error(ErrorCode::kInvalidArgument,
                                        "-d is for many runs; name the file of one by -f"));
  }
  if (arguments.run.number != 0) {
    return make_error(ErrorCode::kInvalidArgument,
                      "--number is for a run that is named, not for a filter");
  }
  if (arguments.directory.empty() || !arguments.file.empty()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "many runs are many files: name a folder for them by -d");
  }
  return export_matching(console, arguments);
}

}  // namespace

void add_export_command(Frame& frame) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = frame.add(
      {.name = "export",
       .group = kInspect,
       .summary = "Write all there is of a run as one file of JSON, or many runs as files.",
       .examples = "pawl export order-17 -f order-17.json\n"
                   "pawl export order-17 --number 2\n"
                   "pawl export --status open -d runs/\n"
                   "pawl export --kind fulfil --status failed -d runs/\n",
       .details = "The file is for pawl import and pawl check; docs/formats/run.md describes it. "
                  "What a\npayload codec has encoded stays encoded."},
      [arguments](Console& console) { return run(console, *arguments); });
  CLI::Option* id = command->add_option("id", arguments->run.id, "Id of the run");
  id->type_name("ID");
  frame.set_values(id, Values::kRunIds);
  add_run_number(command, arguments->run.number);
  CLI::Option* file =
      command->add_option("-f,--file", arguments->file, "File to write (default: standard output)");
  file->check(not_blank())->type_name("FILE");
  frame.set_values(file, Values::kFiles);
  command->add_option("-d,--directory", arguments->directory, "Folder for many runs, a file each")
      ->check(not_blank())
      ->type_name("DIR");
  add_filter(frame, command, arguments->filter);
  command->add_flag("--all", arguments->all, "Every run");
  frame.add_store(command);
  frame.add_looks(command);
}

}  // namespace pawl::cli

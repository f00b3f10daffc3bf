// pawl import
#include <memory>
#include <string>

#include "cli/arguments.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/create_run.h"
#include "cli/exit_codes.h"
#include "cli/files.h"
#include "cli/json_output.h"
#include "cli/store_access.h"
#include "portable/run_document.h"
#include "store/catalog.h"
#include "view/text.h"

namespace pawl::cli {

namespace {

constexpr std::size_t kShownChars = 100;

struct Arguments {
  std::string file;
  std::string id;
  bool is_paused = false;
};

Result<int> run(Console& console, const Arguments& arguments) {
  PAWL_TRY_ASSIGN(const std::string text, read_file(arguments.file, kRunFileBytesMax));
  Result<portable::RunDocument> document = portable::from_json(text);
  if (!document) {
    return make_error(document.error().code,
                      file_title(arguments.file) + ": " + document.error().message);
  }
  if (!arguments.id.empty()) {
    document->image.row.id = arguments.id;
  }
  document->image.row.is_paused = document->image.row.is_paused || arguments.is_paused;
  PAWL_TRY_ASSIGN(const auto store, open_store(console, Access::kChange));
  // Two runs with one run id would be taken for the same one, e.g. by who keeps keys of activities.
  PAWL_TRY_ASSIGN(const bool is_taken, store->catalog().has_run(document->image.row.uuid));
  if (is_taken) {
    PAWL_TRY(portable::give_run_id(*document, new_run_uuid(console.now_ms())));
  }
  PAWL_TRY_ASSIGN(const store::RunRow row, create_run(*store, *document, false, console.now_ms()));
  if (console.is_table()) {
    console.print("imported " + view::line_text(row.id, kShownChars) + ", which is " +
                  (row.is_paused ? "paused" : std::string(store::status_name(row.status))) + "\n");
    if (is_taken) {
      console.print("it has a new run id, since the store has a run with that of the file\n");
    }
  } else {
    auto object = run_json(row);
    object["hasNewRunId"] = is_taken;
    print_json(console, object);
  }
  return kExitOk;
}

}  // namespace

void add_import_command(Frame& frame) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = frame.add(
      {.name = "import",
       .group = kChange,
       .summary = "Make a run of a file that pawl export has written.",
       .examples = "pawl import order-17.json\n"
                   "pawl import order-17.json --id order-17-copy --paused\n"
                   "pawl export order-17 --store sqlite:old.db | pawl import - --store "
                   "sqlite:new.db\n",
       .details = "The run keeps its id, number, run id and history, and an open one goes on at "
                  "once. If a\nrun with that run id is there, it gets a new one, and "
                  "ctx.uuid() gives other values. What\nthe original and its copy both do is done "
                  "twice: pause or terminate "
                  "one of them."},
      [arguments](Console& console) { return run(console, *arguments); });
  CLI::Option* file =
      command->add_option("file", arguments->file, "The file, or - for standard input");
  file->required()->type_name("FILE");
  frame.set_values(file, Values::kFiles);
  command->add_option("--id", arguments->id, "Another id for it")
      ->check(not_blank())
      ->type_name("ID");
  command->add_flag("--paused", arguments->is_paused, "It waits until it is unpaused");
  frame.add_store(command);
  frame.add_output(command);
}

}  // namespace pawl::cli

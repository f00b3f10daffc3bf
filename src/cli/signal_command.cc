// pawl signal
#include <memory>
#include <string>

#include "cli/client.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/find_run.h"
#include "cli/json_argument.h"
#include "cli/store_access.h"
#include "view/text.h"

namespace pawl::cli {

namespace {

constexpr std::size_t kShownChars = 100;

struct Arguments {
  RunName run;
  std::string name;
  std::string payload = "null";
  EventArguments event;
};

Result<int> run(Console& console, const Arguments& arguments) {
  if (arguments.name.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "the name of the signal is empty");
  }
  PAWL_TRY_ASSIGN(std::string payload, read_json_argument(arguments.payload, "the signal's value"));
  PAWL_TRY_ASSIGN(store::NewArrival arrival,
                  signal_arrival(arguments.name, std::move(payload), arguments.event));
  PAWL_TRY_ASSIGN(const auto store, open_store(console, Access::kChange));
  PAWL_TRY_ASSIGN(const store::RunRow row, find_run(*store, arguments.run, Match::kExact));
  PAWL_TRY_ASSIGN(const bool is_sent, send(*store, row, std::move(arrival),
                                           event_dedupe(arguments.event), console.now_ms()));
  console.print(is_sent ? "sent " : "was sent before: ");
  console.print(view::line_text(arguments.name, kShownChars) + " to " +
                view::line_text(row.id, kShownChars) + "\n");
  return kExitOk;
}

}  // namespace

void add_signal_command(Frame& frame) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = frame.add(
      {.name = "signal",
       .group = kChange,
       .summary = "Send a signal to a run.",
       .examples = "pawl signal order-17 approved true\n"
                   "pawl signal order-17 paid '{\"cents\": 1999}' --event-id payment-4711\n"
                   "pawl signal order-17 paid @payment.json\n"
                   "pawl signal order-17 level -- -5\n",
       .details = "The signal waits in the run's mailbox until the workflow takes it. One with an\n"
                  "--event-id is taken once, however often it is sent."},
      [arguments](Console& console) { return run(console, *arguments); });
  add_run_name(frame, command, arguments->run);
  command->add_option("name", arguments->name, "Name of the signal")->required()->type_name("NAME");
  command
      ->add_option("json", arguments->payload,
                   "Its value: JSON, @FILE, or - for standard input (default: null)")
      ->type_name("JSON");
  EventArguments& event = arguments->event;
  command->add_option("--event-id", event.id, "Id of the event that it is: sent once only")
      ->type_name("ID");
  command->add_option("--event-source", event.source, "Where the event comes from")
      ->type_name("TEXT");
  command->add_option("--event-type", event.type, "Type of the event (default: the signal's name)")
      ->type_name("TEXT");
  command->add_option("--event-subject", event.subject, "What the event is about")
      ->type_name("TEXT");
  command->add_option("--event-time", event.time, "When it happened, as RFC 3339")
      ->type_name("TIME");
  frame.add_store(command);
}

}  // namespace pawl::cli

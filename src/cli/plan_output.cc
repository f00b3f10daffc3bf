#include "cli/plan_output.h"

#include <optional>

#include "view/text.h"

namespace pawl::cli {

namespace json = boost::json;

namespace {

constexpr std::size_t kShownChars = 100;

void print_steps(Console& console, const std::string& title,
                 const std::vector<portable::Step>& steps) {
  if (steps.empty()) {
    return;
  }
  console.print(title + "\n");
  for (const portable::Step& step : steps) {
    console.print("  " + view::line_text(portable::step_text(step), kShownChars) + "\n");
  }
}

json::array steps_json(const std::vector<portable::Step>& steps) {
  json::array list;
  for (const portable::Step& step : steps) {
    list.push_back(json::object{
        {"location", step.location}, {"kind", replay::step_name(step.kind)}, {"name", step.name}});
  }
  return list;
}

json::array texts_json(const std::vector<std::string>& texts) {
  json::array list;
  for (const std::string& text : texts) {
    list.push_back(json::value(text));
  }
  return list;
}

}  // namespace

Result<std::vector<std::string>> warn_of_children(store::Store& store, portable::ForkPlan& plan) {
  std::vector<std::string> existing;
  for (const std::string& id : plan.children) {
    PAWL_TRY_ASSIGN(const std::optional<store::RunRow> row, store.find_run(id, std::nullopt));
    if (row) {
      existing.push_back(id);
      plan.warnings.push_back("there is a run '" + id +
                              "': code that starts it as a child again will fail with "
                              "AlreadyExists");
    }
  }
  return existing;
}

void print_plan(Console& console, const portable::ForkPlan& plan) {
  print_steps(console, "done again, if the code takes the same way:", plan.again);
  print_steps(console, "not done again, the recorded outcome arrives:", plan.arriving);
  for (const std::string& signal : plan.unseen_signals) {
    console.print("not seen: signal " + view::line_text(signal, kShownChars) + "\n");
  }
  for (const std::string& warning : plan.warnings) {
    console.print("warning: " + view::line_text(warning, 5 * kShownChars) + "\n");
  }
}

json::object plan_json(const portable::ForkPlan& plan) {
  const store::RunRow& row = plan.document.image.row;
  json::object object;
  object["id"] = row.id;
  object["runId"] = row.uuid.to_string();
  object["entries"] = plan.document.log.size();
  if (plan.failed) {
    object["failed"] = steps_json({*plan.failed}).front();
  }
  object["again"] = steps_json(plan.again);
  object["arriving"] = steps_json(plan.arriving);
  object["unseenSignals"] = texts_json(plan.unseen_signals);
  object["children"] = texts_json(plan.children);
  object["warnings"] = texts_json(plan.warnings);
  return object;
}

}  // namespace pawl::cli

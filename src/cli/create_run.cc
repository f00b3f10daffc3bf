#include "cli/create_run.h"

#include <array>
#include <string>
#include <utility>

#include "cli/client.h"
#include "view/text.h"

namespace pawl::cli {

namespace {

constexpr std::size_t kShownChars = 100;

}  // namespace

Result<store::RunRow> create_run(store::Store& store, const portable::RunDocument& document,
                                 bool as_next, std::int64_t now_ms) {
  store::CreateRun create = portable::make_create_run(document, now_ms);
  create.as_next = as_next;
  std::array<store::Op, 1> ops = {std::move(create)};
  PAWL_TRY(apply_ops(store, ops));
  const auto& done = std::get<store::CreateRun>(ops[0]);
  if (done.outcome == store::CreateRun::Outcome::kCreated) {
    return done.row;
  }
  const std::string run = "'" + view::line_text(done.row.id, kShownChars) + "'";
  return make_error(
      ErrorCode::kAlreadyExists,
      as_next ? "there is a newer run " + run + ", which is " +
                    std::string(store::status_name(done.row.status))
              : "there is a run " + run + " already; nothing was changed. Give another id by --id");
}

}  // namespace pawl::cli

// An expense needs somebody's approval. The manager has a deadline; when it passes, the director is
// asked. Answers come from other processes.
//
//   approval [--store URL] start ID CENTS SECONDS     asks, and waits for the decision
//   approval [--store URL] approve ID NAME            what the manager does, from another process
//   approval [--store URL] reject ID NAME
//   approval [--store URL] answer TOKEN yes|no        what the director does: the link in her mail
//   approval [--store URL] status ID
//
// The store is sqlite:approval.db if not given. `demo` plays all parts.
#include <chrono>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <pawl/pawl.hpp>

using namespace std::chrono_literals;

struct Expense {
  int cents = 0;
  int seconds = 0;  // What the manager has to decide.
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Expense, cents, seconds)

struct Answer {
  bool yes = false;
  std::string by;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Answer, yes, by)

void mail(const std::string& to, const std::string& text) {
  std::cout << "mail to the " << to << ": " << text << std::endl;
}

// --- Workflows -----------------------------------------------------------------------------------

// [ask_manager]
// By signal: whoever knows the id of the run can answer. Nothing if nobody does in time.
pawl::Workflow<std::optional<Answer>> ask_manager(pawl::Context ctx, Expense expense) {
  co_await ctx.run("mail", mail, "manager",
                   "please approve " + std::to_string(expense.cents) + " cents");
  ctx.set("asked", "manager");
  try {
    co_return co_await ctx.signal<Answer>("answer",
                                          {.timeout = std::chrono::seconds(expense.seconds)});
  } catch (const pawl::TimedOut&) {
    co_return std::nullopt;
  }
}
// [/ask_manager]

// [ask_director]
// By promise: its token goes into a link, which is good for one answer.
pawl::Workflow<Answer> ask_director(pawl::Context ctx, Expense expense) {
  const auto answer = ctx.promise<Answer>("director", {.timeout = 7 * 24h});
  co_await ctx.run("mail", mail, "director",
                   "the manager is silent, please decide about " + std::to_string(expense.cents) +
                       " cents: approval answer " + answer.token() + " yes");
  ctx.set("asked", "director");
  ctx.set("token", answer.token());
  try {
    co_return co_await answer;
  } catch (const pawl::TimedOut&) {
    co_return Answer{.yes = false, .by = "nobody: it took too long"};
  }
}
// [/ask_director]

// [approval]
pawl::Workflow<std::string> approval(pawl::Context ctx, Expense expense) {
  std::optional<Answer> answer = co_await ask_manager(ctx, expense);
  if (!answer) {
    answer = co_await ask_director(ctx, expense);
  }
  co_return (answer->yes ? "approved by " : "rejected by ") + answer->by;
}
// [/approval]

// --- The program ---------------------------------------------------------------------------------

int start(const std::string& store, const std::string& id, const Expense& expense) {
  pawl::Registry registry;
  registry.workflow("approval", approval);
  pawl::Engine engine(store, registry);
  const std::string decision = engine.start(approval, id, expense).result();
  std::cout << id << ": " << decision << std::endl;
  return 0;
}

// [client]
int answer(const std::string& store, const std::string& id, const Answer& answer) {
  pawl::Engine client(store, pawl::Registry(), {.work = false});
  client.get(id).signal("answer", answer);
  return 0;
}

int answer_token(const std::string& store, const std::string& token, bool yes) {
  pawl::Engine client(store, pawl::Registry(), {.work = false});
  client.resolve_token(token, Answer{yes, "the director"});
  return 0;
}

int status(const std::string& store, const std::string& id) {
  pawl::Engine client(store, pawl::Registry(), {.work = false});
  const auto run = client.get<std::string>(id);
  std::cout << id << ": " << pawl::to_string(run.status());
  if (run.status() == pawl::Status::kCompleted) {
    std::cout << ", " << run.result();
  } else if (const auto asked = run.state<std::string>("asked")) {
    std::cout << ", asked the " << *asked;
    if (const auto token = run.state<std::string>("token")) {
      std::cout << ", token " << *token;
    }
  }
  std::cout << std::endl;
  return 0;
}
// [/client]

int run(std::vector<std::string> arguments) {
  std::string store = "sqlite:approval.db";
  if (arguments.size() >= 2 && arguments[0] == "--store") {
    store = arguments[1];
    arguments.erase(arguments.begin(), arguments.begin() + 2);
  }
  const std::string command = arguments.empty() ? "" : arguments[0];
  if (command == "start" && arguments.size() == 4) {
    return start(store, arguments[1], {std::stoi(arguments[2]), std::stoi(arguments[3])});
  }
  if ((command == "approve" || command == "reject") && arguments.size() == 3) {
    return answer(store, arguments[1], {command == "approve", arguments[2]});
  }
  if (command == "answer" && arguments.size() == 3) {
    return answer_token(store, arguments[1], arguments[2] == "yes");
  }
  if (command == "status" && arguments.size() == 2) {
    return status(store, arguments[1]);
  }
  std::cerr << "usage: approval [--store URL] start ID CENTS SECONDS | approve ID NAME | "
               "reject ID NAME | answer TOKEN yes|no | status ID\n";
  return 2;
}

int main(int argc, char** argv) {
  try {
    return run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    std::cerr << "approval: " << error.what() << '\n';
    return 1;
  }
}

// A small shop: orders are fulfilled by a workflow that survives whatever happens to this process.
//
//   orders work DIR      works on orders, the new ones and those that it was killed in the middle
//   of orders approve DIR ID [yes|no]    what a person in the office does, from another process
//
// `demo` in this directory kills the first one with SIGKILL and checks what becomes of the orders.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "pawl/pawl.hpp"

using namespace std::chrono_literals;

struct Order {
  std::string id;
  std::string item;
  int cents = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, id, item, cents)

struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct BankIsBusy : std::runtime_error {
  using std::runtime_error::runtime_error;
};

namespace {

// --- Activities: what has effects on the world ---------------------------------------------------

std::string journal_path;

// Says what is really executed: one line when it begins, one when it ends (ok or failed). Behind
// the engine's back, so that this can be compared with what the engine has recorded.
class Journal {
 public:
  explicit Journal(const pawl::Activity& activity)
      : line_(std::to_string(::getpid()) + " " + activity.run_id() + " " + activity.name() + " " +
              activity.key() + " " + std::to_string(activity.attempt())) {
    write("begin");
  }
  ~Journal() { write(std::uncaught_exceptions() > 0 ? "failed" : "ok"); }
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

 private:
  void write(const std::string& what) const {
    const std::string text = what + " " + line_ + "\n";
    const int file = ::open(journal_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0 || ::write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
      std::perror(journal_path.c_str());
      std::abort();  // The demo would count wrong.
    }
    ::close(file);
  }

  std::string line_;
};

void take_time(pawl::Millis time) { std::this_thread::sleep_for(time); }

std::string reserve(pawl::Activity& activity, const Order& order) {
  const Journal journal(activity);
  take_time(100ms);
  return "shelf of the " + order.item;
}

// The bank is busy when it is asked for the first time about every other order, and it takes long
// for a piano.
std::string charge(pawl::Activity& activity, const Order& order) {
  const Journal journal(activity);
  take_time(order.item == "piano" ? 2500ms : 250ms);
  if (activity.attempt() == 1 && order.cents % 2 == 0) {
    throw BankIsBusy("try again");
  }
  return "receipt for " + std::to_string(order.cents) + " cents";
}

std::string print_label(pawl::Activity& activity, const Order& order) {
  const Journal journal(activity);
  take_time(400ms);
  return "parcel with a " + order.item;
}

std::string ship(pawl::Activity& activity, const std::string& parcel) {
  const Journal journal(activity);
  take_time(150ms);
  return parcel + " is on its way";
}

void release(pawl::Activity& activity, const std::string& /*shelf*/) {
  const Journal journal(activity);
  take_time(100ms);
}

void refund(pawl::Activity& activity, const std::string& /*receipt*/) {
  const Journal journal(activity);
  take_time(100ms);
}

}  // namespace

// --- The workflow --------------------------------------------------------------------------------

pawl::Workflow<std::string> fulfil(pawl::Context ctx, Order order) {
  pawl::Saga saga(ctx);
  const std::string shelf = co_await ctx.run("reserve", reserve, order);
  co_await saga.add("release", shelf);  // Undoes it, should a later step fail.

  const auto [receipt, parcel] = co_await ctx.join(  // In parallel.
      [order](pawl::Branch arm) -> pawl::Workflow<std::string> {
        const std::string paid = co_await arm.schedule<std::string>(
            "charge", order, {.queue = "payments", .retry = {.attempts = 5}});
        co_await pawl::Saga(arm).add("refund", paid);
        co_return paid;
      },
      [order](pawl::Branch arm) -> pawl::Workflow<std::string> {
        co_return co_await arm.run("label", print_label, order);
      });

  if (!co_await ctx.signal<bool>("approved", {.timeout = 24h})) {
    throw Refused("the office said no");
  }
  co_await ctx.sleep(1s);  // A moment to think better of it; it could be a year.
  co_return co_await ctx.run("ship", ship, parcel);
}

// --- The program ---------------------------------------------------------------------------------

namespace {

const std::vector<Order> kOrders = {
    {"order-1", "lamp", 1999},  {"order-2", "chair", 4900},  {"order-3", "table", 12'901},
    {"order-4", "clock", 2500}, {"order-5", "sofa", 39'901}, {"order-6", "piano", 499'900},
};

std::string store_url(const std::string& directory) { return "sqlite:" + directory + "/shop.db"; }

int work(const std::string& directory) {
  journal_path = directory + "/journal";
  pawl::Registry registry;
  registry.workflow("fulfil", fulfil)
      .activity("charge", charge)
      .activity("release", release)
      .activity("refund", refund);
  pawl::Engine engine(store_url(directory), registry, {.queues = {{.name = "payments"}}});

  std::vector<pawl::RunHandle<std::string>> runs;
  for (const Order& order : kOrders) {
    runs.push_back(engine.start(fulfil, order.id, order));  // The one that is there, if there is.
    std::cout << runs.back().id() << (runs.back().is_new() ? " starts" : " goes on") << std::endl;
    if (runs.back().is_new()) {
      take_time(150ms);  // Customers come one after the other.
    }
  }
  for (const auto& run : runs) {
    try {
      const std::string result = run.result();
      std::cout << run.id() << " completed: " << result << std::endl;
    } catch (const pawl::WorkflowFailed& failed) {
      std::cout << run.id() << " failed: " << failed.message() << std::endl;
    }
  }
  return 0;
}

int approve(const std::string& directory, const std::string& id, bool yes) {
  pawl::Engine engine(store_url(directory), pawl::Registry(), {.work = false});
  engine.get(id).signal("approved", yes);
  return 0;
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 2 && arguments[0] == "work") {
    return work(arguments[1]);
  }
  if ((arguments.size() == 3 || arguments.size() == 4) && arguments[0] == "approve") {
    return approve(arguments[1], arguments[2], arguments.size() == 3 || arguments[3] == "yes");
  }
  std::cerr << "usage: orders work DIR\n       orders approve DIR ID [yes|no]\n";
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    std::cerr << "orders: " << error.what() << '\n';
    return 1;
  }
}

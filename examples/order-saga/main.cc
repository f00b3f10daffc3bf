// Orders that are carried out as a whole or not at all: reserve, charge, ship. If a step fails,
// what was done before it is undone.
//
//   order_saga [STORE]      STORE is sqlite:orders.db if not given
#include <chrono>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <pawl/pawl.hpp>

using namespace std::chrono_literals;

struct Order {
  std::string id;
  std::string item;
  int cents = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, id, item, cents)

struct Declined : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct TooHeavy : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct BankIsBusy : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// --- Activities: what has effects on the world ---------------------------------------------------

void say(const std::string& what) { std::cout << "  " << what << std::endl; }

std::string reserve(const Order& order) {
  say("reserve: " + order.item);
  return "shelf of " + order.id;
}

std::string charge(const Order& order) {
  if (order.cents > 500'000) {
    throw Declined("the card's limit is 5000.00");
  }
  say("charge: " + std::to_string(order.cents) + " cents");
  return "payment of " + order.id;
}

std::string ship(const Order& order) {
  if (order.item == "piano") {
    throw TooHeavy("no carrier takes a piano");
  }
  say("ship: " + order.item);
  return "parcel with a " + order.item;
}

void release(const std::string& shelf) { say("release: " + shelf); }

// [refund]
void refund(pawl::Activity& activity, const std::string& payment) {
  if (activity.attempt() == 1) {
    say("refund: the bank is busy");
    throw BankIsBusy("try again");
  }
  say("refund: " + payment);
}
// [/refund]

// --- The workflow --------------------------------------------------------------------------------

// [fulfil]
pawl::Workflow<std::string> fulfil(pawl::Context ctx, Order order) {
  pawl::Saga saga(ctx);

  const std::string shelf = co_await ctx.run("reserve", reserve, order);
  co_await saga.add("release", shelf);

  const std::string payment = co_await ctx.run("charge", charge, order);
  co_await saga.add("refund", payment);

  co_return co_await ctx.run("ship", ship, order);
}
// [/fulfil]

// --- The program ---------------------------------------------------------------------------------

int main(int argc, char** argv) {
  const std::vector<Order> orders = {
      {"order-1", "lamp", 1999}, {"order-2", "yacht", 9'900'000}, {"order-3", "piano", 499'900}};
  try {
    // [registry]
    pawl::Registry registry;
    registry.workflow("fulfil", fulfil)
        .activity("release", release)
        .activity("refund", refund, {.compensation_retry = {.attempts = 10, .initial = 100ms}});
    // [/registry]
    pawl::Engine engine(argc > 1 ? argv[1] : "sqlite:orders.db", registry);
    int completed = 0;
    for (const Order& order : orders) {
      std::cout << order.id << ": " << order.item << std::endl;
      try {
        const std::string parcel = engine.start(fulfil, order.id, order).result();
        std::cout << "  completed: " << parcel << std::endl;
        ++completed;
      } catch (const pawl::WorkflowFailed& failed) {
        std::cout << "  failed: " << failed.type() << ": " << failed.message() << std::endl;
      }
    }
    return completed == 1 ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "order_saga: " << error.what() << '\n';
    return 1;
  }
}

// The code that docs/guide and docs/reference.md quote, by region, and tests that run it.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include <gtest/gtest.h>
#include <pawl/pawl.hpp>
#include <pawl/testing.hpp>

namespace {

using namespace std::chrono_literals;

struct Item {
  std::string name;
  int count = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Item, name, count)
struct Order {
  std::string id;
  int cents = 0;
  std::vector<Item> items = {};
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, id, cents, items)

// What each test runs in: nothing stays in memory between two turns, so that all of it is replayed.
pawl::testing::Options replaying() { return {.replay_every_turn = true}; }

// --- Determinism ---------------------------------------------------------------------------------

namespace determinism {

std::string bake(const Order& order) { return "bread for " + order.id; }

// [clock]
pawl::Workflow<std::string> deliver(pawl::Context ctx, Order order) {
  const pawl::Time deadline = ctx.now() + 2h;
  const auto bread = co_await ctx.run("bake", bake, order);
  co_return ctx.now() < deadline ? bread : "a voucher";
}
// [/clock]

// [random]
pawl::Workflow<std::string> draw(pawl::Context ctx, std::vector<std::string> names) {
  const auto winner = ctx.uniform(0, static_cast<std::int64_t>(names.size()) - 1);
  const std::string ticket = ctx.uuid();
  co_await ctx.schedule("announce", names[static_cast<std::size_t>(winner)] + " by " + ticket);
  co_return names[static_cast<std::size_t>(winner)];
}
// [/random]

// [order-of-addresses]
pawl::Workflow<void> pack(pawl::Context ctx, std::vector<Item> items) {
  std::map<std::string, Item> by_name;  // Ordered by what they are, not by where they lie.
  for (const Item& item : items) {
    by_name[item.name] = item;
  }
  for (const auto& [name, item] : by_name) {
    co_await ctx.schedule("pack", item);
  }
}
// [/order-of-addresses]

// [unordered]
pawl::Workflow<int> stock(pawl::Context ctx, std::unordered_map<std::string, int> wanted) {
  const std::map<std::string, int> in_order(wanted.begin(), wanted.end());
  int found = 0;
  for (const auto& [name, count] : in_order) {
    found += co_await ctx.schedule<int>("count", name) >= count ? 1 : 0;
  }
  co_return found;
}
// [/unordered]

// [step-keys]
pawl::Workflow<int> stock_by_key(pawl::Context ctx, std::unordered_map<std::string, int> wanted) {
  std::vector<pawl::Future<int>> counts;
  for (const auto& [name, count] : wanted) {  // In any order: each step is found by its key.
    counts.push_back(ctx.schedule<int>("count", name, {.step_key = "count:" + name}));
  }
  int sum = 0;
  for (const int count : co_await pawl::all(counts)) {
    sum += count;
  }
  co_return sum;
}
// [/step-keys]

int render_page(int page) { return page * page; }

// [threads]
pawl::Workflow<int> render(pawl::Context ctx, int pages) {
  std::vector<pawl::Future<int>> parts;
  for (int page = 0; page < pages; ++page) {  // Each one runs on a thread of the engine.
    parts.push_back(ctx.run("render", render_page, page));
  }
  int sum = 0;
  for (const int part : co_await pawl::all(parts)) {
    sum += part;
  }
  co_return sum;
}
// [/threads]

// [parameters]
pawl::Workflow<std::string> greet(pawl::Context ctx, std::string name) {  // By value.
  co_await ctx.sleep(1h);
  co_return "hello " + name;
}
// [/parameters]

// [lambdas]
pawl::Workflow<int> charge_all(pawl::Context ctx, std::vector<Order> orders) {
  const int fee = 30;
  // The body of a branch may capture: the branch keeps it as long as it runs.
  const int total = co_await ctx.branch([fee, orders](pawl::Branch inner) -> pawl::Workflow<int> {
    int sum = 0;
    for (const Order& order : orders) {
      sum += fee + co_await inner.schedule<int>("charge", order);
    }
    co_return sum;
  });
  co_return total;
}
// [/lambdas]

int parse_size(const std::string& text) { return static_cast<int>(text.size()); }

// [captures]
pawl::Workflow<int> measure(pawl::Context ctx, std::string text) {
  co_return co_await ctx.run("measure", parse_size, text);  // A copy goes along, and is recorded.
}
// [/captures]

int free_shipping_from = 5000;
int read_limit() { return free_shipping_from; }

// [global-state]
pawl::Workflow<bool> ships_free(pawl::Context ctx, Order order) {
  // Read once and recorded. Whoever changes the setting later does not change this run.
  const int limit = co_await ctx.run("read limit", read_limit);
  co_return order.cents >= limit;
}
// [/global-state]

double interest(int cents, int days) { return cents * 0.03 * days / 365; }

// [floating-point]
pawl::Workflow<bool> remind(pawl::Context ctx, int cents, int days) {
  const double due = co_await ctx.run("interest", interest, cents, days);
  if (due > 1.0) {  // Decided by what is recorded, whatever this build would compute.
    co_await ctx.schedule("send reminder", due);
    co_return true;
  }
  co_return false;
}
// [/floating-point]

// [environment]
std::string region() {
  const char* set = std::getenv("SHOP_REGION");
  return set == nullptr ? "north" : set;
}

pawl::Workflow<std::string> route(pawl::Context ctx) {
  co_return co_await ctx.run("read region", region);
}
// [/environment]

// [argument-order]
pawl::Workflow<int> two_prices(pawl::Context ctx, Order order) {
  auto ours = ctx.schedule<int>("price here", order);     // First,
  auto theirs = ctx.schedule<int>("price there", order);  // second: statements have an order.
  const auto [a, b] = co_await pawl::all(ours, theirs);
  co_return std::min(a, b);
}
// [/argument-order]

TEST(Guide, Determinism) {
  pawl::Registry registry;
  registry.workflow("deliver", deliver).workflow("draw", draw).workflow("pack", pack);
  registry.workflow("stock", stock).workflow("stock_by_key", stock_by_key);
  registry.workflow("render", render).workflow("greet", greet).workflow("charge_all", charge_all);
  registry.workflow("measure", measure).workflow("ships_free", ships_free);
  registry.workflow("remind", remind).workflow("route", route).workflow("two_prices", two_prices);
  pawl::testing::Environment env(registry, replaying());
  std::vector<std::string> packed;
  env.fake("announce", [](const std::string&) {});
  env.fake("pack", [&](const Item& item) { packed.push_back(item.name); });
  env.fake("count", [](const std::string& name) { return static_cast<int>(name.size()); });
  env.fake("charge", [](const Order& order) { return order.cents; });
  env.fake("send reminder", [](double) {});
  env.fake("price here", [](const Order& order) { return order.cents; });
  env.fake("price there", [](const Order& order) { return order.cents - 1; });

  const Order order{"o-1", 2000, {{"lamp", 1}, {"bulb", 2}}};
  EXPECT_EQ(env.start(deliver, "clock", order).result(), "bread for o-1");
  const std::string winner = env.start(draw, "random", {"Ann", "Bob", "Cid"}).result();
  EXPECT_TRUE(winner == "Ann" || winner == "Bob" || winner == "Cid");
  env.start(pack, "addresses", order.items).result();
  EXPECT_EQ(packed, (std::vector<std::string>{"bulb", "lamp"}));
  EXPECT_EQ(env.start(stock, "unordered", {{"a", 1}, {"bb", 3}}).result(), 1);
  EXPECT_EQ(env.start(stock_by_key, "keys", {{"a", 1}, {"bb", 3}}).result(), 3);
  EXPECT_EQ(env.start(render, "threads", 4).result(), 14);
  EXPECT_EQ(env.start(greet, "parameters", "Ann").result(), "hello Ann");
  EXPECT_EQ(env.start(charge_all, "lambdas", {order, order}).result(), 4060);
  EXPECT_EQ(env.start(measure, "captures", "four").result(), 4);
  EXPECT_FALSE(env.start(ships_free, "globals", order).result());
  EXPECT_TRUE(env.start(remind, "floats", 100000, 30).result());
  EXPECT_EQ(env.start(route, "environment").result(), "north");
  EXPECT_EQ(env.start(two_prices, "arguments", order).result(), 1999);
  EXPECT_TRUE(env.errors().empty());
}

}  // namespace determinism

// --- Activities ----------------------------------------------------------------------------------

namespace activities {

// The other side: takes a key, and answers the same to whoever comes twice with it.
struct Bank {
  std::map<std::string, std::string> receipts;
  int calls = 0;

  std::string charge(const std::string& key, int cents) {
    ++calls;
    return receipts.try_emplace(key, "receipt for " + std::to_string(cents)).first->second;
  }
};
Bank bank;

// [idempotency]
std::string charge(pawl::Activity& activity, const Order& order) {
  // The same key in every attempt of this step, and in no other step.
  return bank.charge(activity.key(), order.cents);
}
// [/idempotency]

// [retries]
pawl::Workflow<std::string> pay(pawl::Context ctx, Order order) {
  co_return co_await ctx.run("charge",
                             {.retry = {.attempts = 5,
                                        .initial = 200ms,
                                        .maximum = 30s,
                                        .factor = 3.0,
                                        .final_types = {"CardRefused"}},
                              .timeout = 10s},
                             charge, order);
}
// [/retries]

// [own-errors]
int reserve(const Order& order) {
  if (order.items.empty()) {
    throw pawl::ActivityError("EmptyOrder", "there is nothing in " + order.id, {.final = true});
  }
  if (order.cents > 100000) {
    throw pawl::ActivityError("Busy", "ask again later",
                              {.next_delay = 5min, .details = R"({"queue": 7})"});
  }
  return static_cast<int>(order.items.size());
}
// [/own-errors]

// [catching]
pawl::Workflow<std::string> order_or_wait(pawl::Context ctx, Order order) {
  std::string problem;
  try {
    co_await ctx.run("reserve", reserve, order);
  } catch (const pawl::ActivityFailed& failed) {
    if (failed.type() != "EmptyOrder") {
      throw;
    }
    problem = failed.message();
  }
  // C++ has no co_await in a handler: leave it first.
  if (!problem.empty()) {
    co_await ctx.schedule("write to customer", problem);
    co_return "put back";
  }
  co_return "ordered";
}
// [/catching]

// [queue]
pawl::Workflow<int> thumbnails(pawl::Context ctx, std::string film) {
  co_return co_await ctx.schedule<int>("cut thumbnails", film,
                                       {.queue = "video",
                                        .priority = 10,
                                        .timeout = 2h,
                                        .heartbeat_timeout = 1min,
                                        .retry = {.attempts = 3}});
}
// [/queue]

// [heartbeat]
int cut_thumbnails(pawl::Activity& activity, const std::string& film) {
  const int frames = static_cast<int>(film.size());
  int next = activity.last_details<int>().value_or(0);  // Where an earlier attempt was.
  for (; next < frames; ++next) {
    if (!activity.heartbeat(next)) {
      throw std::runtime_error("asked to stop");
    }
    // … cut frame `next` …
    if (activity.attempt() == 1 && next == 3) {
      throw std::runtime_error("the disk was full");
    }
  }
  return next;
}
// [/heartbeat]

// [transact]
pawl::Workflow<int> book(pawl::Context ctx, std::string account, int cents) {
  co_return co_await ctx.transact("book", [account, cents](pawl::Transaction& tx) {
    tx.exec("CREATE TABLE IF NOT EXISTS booking(account TEXT, cents INTEGER)");
    tx.exec("INSERT INTO booking VALUES(?, ?)", {account, std::to_string(cents)});
    const auto rows = tx.query("SELECT sum(cents) FROM booking WHERE account = ?", {account});
    return std::stoi(rows[0][0]);
  });
}
// [/transact]

TEST(Guide, Activities) {
  pawl::Registry registry;
  registry.workflow("pay", pay).workflow("order_or_wait", order_or_wait);
  registry.workflow("thumbnails", thumbnails).workflow("book", book);
  registry.activity("cut thumbnails", cut_thumbnails);
  pawl::testing::Options options = replaying();
  options.engine.queues = {{.name = "default"}, {.name = "video", .concurrency = 2}};
  pawl::testing::Environment env(registry, options);
  std::vector<std::string> letters;
  env.fake("write to customer", [&](const std::string& text) { letters.push_back(text); });

  EXPECT_EQ(env.start(pay, "p", Order{"o-1", 500}).result(), "receipt for 500");
  EXPECT_EQ(env.start(order_or_wait, "o", Order{"o-2", 1, {{"lamp", 1}}}).result(), "ordered");
  EXPECT_EQ(env.start(order_or_wait, "e", Order{"o-3", 1}).result(), "put back");
  EXPECT_EQ(letters, std::vector<std::string>{"there is nothing in o-3"});
  EXPECT_EQ(env.start(thumbnails, "t", "12345678").result(), 8);
  EXPECT_EQ(env.start(book, "b1", "ann", 30).result(), 30);
  EXPECT_EQ(env.start(book, "b2", "ann", 12).result(), 42);
}

// The key is what makes a second attempt harmless.
TEST(Guide, ACrashBetweenTheEffectAndTheRecord) {
  bank = {};
  pawl::Registry registry;
  registry.workflow("pay", pay);
  pawl::testing::Environment env(registry);
  bool has_crashed = false;
  env.fake("charge", [&](pawl::Activity& activity, const Order& order) {
    const std::string receipt = bank.charge(activity.key(), order.cents);
    if (!std::exchange(has_crashed, true)) {
      throw std::runtime_error("the answer was lost");
    }
    return receipt;
  });
  EXPECT_EQ(env.start(pay, "p", Order{"o-1", 500}).result(), "receipt for 500");
  EXPECT_EQ(bank.calls, 2);
  EXPECT_EQ(bank.receipts.size(), 1U);
}

}  // namespace activities

// --- Signals, promises, timers -------------------------------------------------------------------

namespace messages {

// [signal]
pawl::Workflow<std::string> approval(pawl::Context ctx, Order order) {
  ctx.set("step", "waiting for the office");  // Can be read from outside while it waits.
  try {
    const bool approved = co_await ctx.signal<bool>("approved", {.timeout = 72h});
    co_return approved ? "approved" : "refused";
  } catch (const pawl::TimedOut&) {
  }
  co_await ctx.schedule("remind", order.id);
  co_return co_await ctx.signal<bool>("approved") ? "approved late" : "refused late";
}
// [/signal]

// [mailbox]
pawl::Workflow<int> basket(pawl::Context ctx) {
  int cents = 0;
  co_await ctx.signal("checkout");
  while (const auto item = ctx.try_signal<int>("item")) {  // What has come until now.
    cents += *item;
  }
  co_return cents;
}
// [/mailbox]

// [event]
pawl::Workflow<std::string> payment(pawl::Context ctx) {
  const auto paid = co_await ctx.signal<pawl::WithEvent<int>>("paid");
  co_return paid.event.source + " paid " + std::to_string(paid.value);
}
// [/event]

// [promise]
pawl::Workflow<std::string> ask(pawl::Context ctx, std::string question) {
  auto answer = ctx.promise<std::string>("answer", {.timeout = 7 * 24h});
  // Whoever has the token may answer, once; e.g. by a link in a mail.
  co_await ctx.schedule("send mail", question + " " + answer.token());
  try {
    co_return co_await answer;
  } catch (const pawl::PromiseRejected& rejected) {
    co_return "no answer: " + rejected.message();
  }
}
// [/promise]

// [timers]
pawl::Workflow<int> reminders(pawl::Context ctx, Order order) {
  auto paid = ctx.signal<int>("paid");
  int sent = 0;
  while (true) {
    auto week = ctx.sleep(7 * 24h);
    const auto first = co_await pawl::any(paid, week);
    if (first.index() == 0) {
      ctx.cancel(week);  // Else it would stay until it fires.
      co_return sent;
    }
    co_await ctx.schedule("remind", order.id);
    ++sent;
  }
}
// [/timers]

// [with-timeout]
pawl::Workflow<int> quote(pawl::Context ctx, Order order) {
  auto exact = ctx.schedule<int>("exact price", order, {.queue = "slow"});
  try {
    co_return co_await pawl::with_timeout(exact, 2s);
  } catch (const pawl::TimedOut&) {
  }
  ctx.cancel(exact);  // with_timeout() itself cancels nothing but its own timer.
  co_return order.cents;
}
// [/with-timeout]

TEST(Guide, Messages) {
  pawl::Registry registry;
  registry.workflow("approval", approval).workflow("basket", basket).workflow("payment", payment);
  registry.workflow("ask", ask).workflow("reminders", reminders).workflow("quote", quote);
  pawl::testing::Environment env(registry, replaying());
  int reminded = 0;
  std::string mail;
  env.fake("remind", [&](const std::string&) { ++reminded; });
  env.fake("send mail", [&](const std::string& text) { mail = text; });
  pawl::Engine& engine = env;

  auto run = engine.start(approval, "order-17", Order{"order-17", 100});
  env.advance(1h);
  // [client-signal]
  auto order = engine.get<std::string>("order-17");
  order.signal("approved", true);
  // [/client-signal]
  EXPECT_EQ(run.state<std::string>("step"), "waiting for the office");
  EXPECT_EQ(run.result(), "approved");
  auto late = env.start(approval, "order-18", Order{"order-18", 100});
  env.advance(80h);
  late.signal("approved", false);
  EXPECT_EQ(late.result(), "refused late");
  EXPECT_EQ(reminded, 1);

  // [client-start]
  auto filled = engine.signal_with_start(basket, "basket-3", nullptr, "item", 250);
  filled.signal("item", 199);
  filled.signal("checkout");
  // [/client-start]
  EXPECT_EQ(filled.result(), 449);

  auto awaited = env.start(payment, "payment-5");
  // [client-event]
  const pawl::Event event{.id = "evt-1", .source = "/bank", .time = "2026-11-16T20:26:59Z"};
  const bool is_first = awaited.signal("paid", 100, event);
  const bool is_again = awaited.signal("paid", 100, event);  // False: it is there already.
  // [/client-event]
  EXPECT_TRUE(is_first);
  EXPECT_FALSE(is_again);
  EXPECT_EQ(awaited.result(), "/bank paid 100");

  auto asked = env.start(ask, "ask-1", "Tea?");
  env.advance(1h);
  const std::string token = mail.substr(mail.rfind(' ') + 1);
  // [client-promise]
  engine.resolve_token(token, "yes, please");  // By the token,
  try {
    engine.resolve("ask-1", "answer", "no, thanks");  // or by run and name; only the first counts.
  } catch (const pawl::Exception&) {
  }
  // [/client-promise]
  EXPECT_EQ(asked.result(), "yes, please");

  auto slow = env.start(reminders, "r", Order{"o", 1});
  env.advance(15 * 24h);
  slow.signal("paid", 1);
  EXPECT_EQ(slow.result(), 2);
  EXPECT_EQ(env.start(quote, "q", Order{"o", 7}).result(), 7);
}

TEST(Guide, APromiseIsResolvedOnce) {
  pawl::Registry registry;
  registry.workflow("waits", [](pawl::Context ctx) -> pawl::Workflow<void> {
    co_await ctx.promise("p");
    co_await ctx.signal("end");
  });
  pawl::testing::Environment env(registry);
  auto run = env.start("waits", "w");
  env.run_until_idle();
  env.resolve("w", "p");
  env.run_until_idle();
  EXPECT_THROW(env.resolve("w", "p"), pawl::AlreadyExists);
  run.signal("end");
  run.result();
  EXPECT_THROW(env.resolve("w", "p"), pawl::Closed);
}

}  // namespace messages

// --- Children ------------------------------------------------------------------------------------

namespace children {

// [child]
pawl::Workflow<int> parcel(pawl::Context ctx, Order order) {
  co_await ctx.signal("address");
  co_return static_cast<int>(order.items.size());
}

pawl::Workflow<int> shipment(pawl::Context ctx, std::vector<Order> orders) {
  std::vector<pawl::Future<int>> parcels;
  for (const Order& order : orders) {
    parcels.push_back(ctx.child<int>(
        "parcel", "parcel-" + order.id, order,
        {.parent_close = pawl::ParentClose::kCancel, .tags = {{"shipment", ctx.info().id}}}));
    co_await ctx.send("parcel-" + order.id, "address");  // A signal to another run, once.
  }
  int items = 0;
  for (const int count : co_await pawl::all(parcels)) {
    items += count;
  }
  co_return items;
}
// [/child]

TEST(Guide, Children) {
  pawl::Registry registry;
  registry.workflow("parcel", parcel).workflow("shipment", shipment);
  pawl::testing::Environment env(registry, replaying());
  const std::vector<Order> orders = {{"a", 1, {{"x", 1}}}, {"b", 1, {{"x", 1}, {"y", 1}}}};
  EXPECT_EQ(env.start(shipment, "s-1", orders).result(), 3);
  EXPECT_EQ(env.get("parcel-a").describe().tags, (pawl::Tags{{"shipment", "s-1"}}));
}

}  // namespace children

// --- Parallel work -------------------------------------------------------------------------------

namespace parallel {

// [join]
pawl::Workflow<std::string> prepare(pawl::Context ctx, Order order) {
  const auto [receipt, parcel] = co_await ctx.join(
      [order](pawl::Branch arm) -> pawl::Workflow<std::string> {
        co_await arm.schedule("check card", order.id);
        co_return co_await arm.schedule<std::string>("charge", order);
      },
      [order](pawl::Branch arm) -> pawl::Workflow<std::string> {
        co_return co_await arm.schedule<std::string>("pack", order);
      });
  co_return receipt + ", " + parcel;
}
// [/join]

// [any]
pawl::Workflow<int> first_quote(pawl::Context ctx, Order order) {
  const std::vector<pawl::Future<int>> quotes = {
      ctx.schedule<int>("quote north", order),
      ctx.schedule<int>("quote south", order),
  };
  const pawl::Winner<int> winner = co_await pawl::any(quotes);
  for (std::size_t i = 0; i < quotes.size(); ++i) {
    if (i != winner.index) {
      ctx.cancel(quotes[i]);  // The loser is asked to stop.
    }
  }
  co_return winner.value;
}
// [/any]

// [fan-out]
pawl::Workflow<int> resize_all(pawl::Context ctx, std::vector<std::string> images) {
  constexpr std::size_t kAtOnce = 3;
  std::size_t next = 0;  // Shared by the arms. They take turns, in an order that is recorded.
  int bytes = 0;
  const auto worker = [&](pawl::Branch arm) -> pawl::Workflow<void> {
    while (next < images.size()) {
      const std::string image = images[next++];
      bytes += co_await arm.schedule<int>("resize", image);
    }
  };
  co_await ctx.join(std::vector(std::min(kAtOnce, images.size()), worker));
  co_return bytes;
}
// [/fan-out]

TEST(Guide, Parallel) {
  for (const bool replay : {false, true}) {
    pawl::Registry registry;
    registry.workflow("prepare", prepare).workflow("first_quote", first_quote);
    registry.workflow("resize_all", resize_all);
    pawl::testing::Environment env(registry, {.seed = 7, .replay_every_turn = replay});
    env.fake("check card", [](const std::string&) {});
    env.fake("charge", [](const Order& order) { return "receipt for " + order.id; });
    env.fake("pack", [](const Order& order) { return "parcel " + order.id; });
    env.fake("quote north", [](const Order&) { return 7; });
    env.fake("quote south", [](const Order&) { return 7; });
    env.fake("resize", [](const std::string& image) { return static_cast<int>(image.size()); });
    EXPECT_EQ(env.start(prepare, "p", Order{"o", 1}).result(), "receipt for o, parcel o");
    EXPECT_EQ(env.start(first_quote, "q", Order{"o", 1}).result(), 7);
    EXPECT_EQ(env.start(resize_all, "r", {"a", "bb", "ccc", "dddd", "eeeee"}).result(), 15);
    EXPECT_EQ(env.history("r").count("BranchOpened"), 3U) << env.history("r").text();
    EXPECT_EQ(env.start(resize_all, "none", {}).result(), 0);
  }
}

}  // namespace parallel

// --- Loops ---------------------------------------------------------------------------------------

namespace loops {

// [loop]
struct Account {
  int months = 0;
  int paid = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Account, months, paid)

pawl::Workflow<int> subscription(pawl::Context ctx, std::string customer) {
  co_return co_await ctx.loop(
      Account{},
      [customer](pawl::Branch month,
                 Account account) -> pawl::Workflow<pawl::LoopStep<Account, int>> {
        auto cancelled = month.signal("cancel");
        auto over = month.sleep(30 * 24h);
        const auto first = co_await pawl::any(cancelled, over);
        if (first.index() == 0) {
          co_return pawl::break_with(account.paid);
        }
        account.paid += co_await month.schedule<int>("bill", customer);
        ++account.months;
        co_return pawl::continue_with(account);
      },
      {.checkpoint_every = 12});
}
// [/loop]

// [recur]
pawl::Workflow<int> counter(pawl::Context ctx, int day, int visitors) {
  auto midnight = ctx.sleep(24h);
  auto visit = ctx.signal<int>("visit");
  while ((co_await pawl::any(midnight, visit)).index() == 1) {
    visitors += co_await visit;
    visit = ctx.signal<int>("visit");
  }
  if (day < 3) {
    ctx.recur(day + 1, visitors);  // Ends this run; the next one has the same id.
  }
  co_return visitors;
}
// [/recur]

TEST(Guide, Loops) {
  pawl::Registry registry;
  registry.workflow("subscription", subscription).workflow("counter", counter);
  pawl::testing::Environment env(registry, replaying());
  env.fake("bill", [](const std::string&) { return 5; });
  auto run = env.start(subscription, "s-1", "ann");
  env.advance(40 * 30 * 24h + 1h);
  EXPECT_LT(env.history("s-1").lines().size(), 80U) << env.history("s-1").text();
  run.signal("cancel");
  EXPECT_EQ(run.result(), 200);

  auto shop = env.start(counter, "c-1", 1, 0);
  shop.signal("visit", 2);
  env.advance(30h);
  shop.signal("visit", 3);
  EXPECT_EQ(shop.result(), 5);
  EXPECT_EQ(shop.describe().info.number, 3U);
}

}  // namespace loops

// --- Sagas ---------------------------------------------------------------------------------------

namespace sagas {

// [saga]
pawl::Workflow<std::string> trip(pawl::Context ctx, std::string who) {
  pawl::Saga saga(ctx);
  const auto flight = co_await ctx.schedule<std::string>("book flight", who);
  co_await saga.add("cancel flight", flight);  // Right after what it undoes.
  const auto hotel = co_await ctx.schedule<std::string>("book hotel", who);
  co_await saga.add("cancel hotel", hotel);
  const auto car = co_await ctx.schedule<std::string>("book car", who);
  co_return flight + ", " + hotel + ", " + car;
}
// [/saga]

void cancel_flight(const std::string& /*flight*/) {}

// [saga-registry]
pawl::Registry travel_office() {
  pawl::Registry registry;
  registry.workflow("trip", trip);
  registry.activity("cancel flight", cancel_flight,
                    {.compensation_retry = {.attempts = 0, .maximum = 1h}});  // Until it works.
  return registry;
}
// [/saga-registry]

TEST(Guide, Sagas) {
  pawl::testing::Environment env(travel_office(), replaying());
  std::vector<std::string> undone;
  env.fake("book flight", [](const std::string& who) { return "flight of " + who; });
  env.fake("book hotel", [](const std::string& who) { return "room of " + who; });
  env.fake("book car",
           [](const std::string&) -> std::string { throw std::runtime_error("no cars left"); });
  env.fake("cancel hotel", [&](const std::string& hotel) { undone.push_back(hotel); });
  env.fake("cancel flight", [&](const std::string& flight) { undone.push_back(flight); });
  auto run = env.start(trip, "trip-1", "Ann");
  try {
    run.result();
    FAIL();
  } catch (const pawl::WorkflowFailed& failed) {
    EXPECT_STREQ(failed.what(), "run 'trip-1' failed: std::runtime_error: no cars left");
  }
  EXPECT_EQ(undone, (std::vector<std::string>{"room of Ann", "flight of Ann"}));
}

}  // namespace sagas

// --- Cancelling ----------------------------------------------------------------------------------

namespace cancelling {

// [cancel]
pawl::Workflow<std::string> oven(pawl::Context ctx, std::string bread) {
  auto baking = ctx.schedule<std::string>("bake", bread);
  bool is_cancelled = false;
  try {
    co_return co_await baking;
  } catch (const pawl::Cancelled&) {
    is_cancelled = true;  // C++ has no co_await in a handler.
  }
  if (is_cancelled) {
    ctx.cancel(baking);                   // Asks the task to stop.
    co_await ctx.schedule("clean oven");  // Runs normally: the request throws once.
  }
  throw pawl::Cancelled("the oven is clean");  // Ends the run as cancelled.
}
// [/cancel]

// [shield]
pawl::Workflow<int> pay_out(pawl::Context ctx, int cents) {
  // Not interrupted: who has begun to pay wants to know what came of it.
  const int paid = co_await ctx.shielded().schedule<int>("pay out", cents);
  if (ctx.cancelled()) {
    throw pawl::Cancelled();
  }
  co_await ctx.sleep(24h);
  co_return paid;
}
// [/shield]

TEST(Guide, Cancelling) {
  pawl::Registry registry;
  registry.workflow("oven", oven).workflow("pay_out", pay_out);
  pawl::testing::Environment env(registry, replaying());
  bool is_clean = false;
  env.fake("clean oven", [&] { is_clean = true; });
  env.fake("pay out", [](int cents) { return cents; });
  pawl::Engine& engine = env;

  auto run = env.start(oven, "oven-1", "rye");  // Nobody has the activity "bake": it waits.
  env.run_until_idle();
  // [client-cancel]
  engine.get("oven-1").cancel("the shop is closed");
  // [/client-cancel]
  EXPECT_THROW(run.result(), pawl::WorkflowCancelled);
  EXPECT_TRUE(is_clean);

  auto paid = env.start(pay_out, "pay-1", 100);
  paid.cancel();
  EXPECT_THROW(paid.result(), pawl::WorkflowCancelled);
  EXPECT_TRUE(env.history("pay-1").contains("TaskCompleted")) << env.history("pay-1").text();
}

}  // namespace cancelling

// --- Changing code -------------------------------------------------------------------------------

namespace changing {

// [version-1]
pawl::Workflow<std::string> fulfil_1(pawl::Context ctx, Order order) {
  co_await ctx.schedule("reserve", order);
  co_return co_await ctx.schedule<std::string>("charge", order);
}
// [/version-1]

// [insert]
pawl::Workflow<std::string> fulfil_2(pawl::Context ctx, Order order) {
  co_await ctx.schedule("reserve", order);
  co_await ctx.v(2).schedule("check fraud", order);  // New; the step after it has version 1.
  co_return co_await ctx.schedule<std::string>("charge", order);
}
// [/insert]

// [remove]
pawl::Workflow<std::string> fulfil_3(pawl::Context ctx, Order order) {
  ctx.removed(pawl::StepKind::kTask, "reserve");  // In the place where it was.
  co_return co_await ctx.schedule<std::string>("charge", order);
}
// [/remove]

// [check-version]
pawl::Workflow<std::string> fulfil_4(pawl::Context ctx, Order order) {
  co_await ctx.schedule("reserve", order);
  if (ctx.check_version(2) == 1) {  // Has charged already, the old way.
    co_return co_await ctx.schedule<std::string>("charge", order);
  }
  const auto invoice = co_await ctx.schedule<std::string>("write invoice", order);
  co_await ctx.signal("paid");
  co_return invoice;
}
// [/check-version]

TEST(Guide, ChangingCode) {
  // [check-history]
  // What a run of the old code has recorded: it waits for "charge".
  const pawl::testing::History old =
      pawl::testing::HistoryBuilder().task("reserve").completed("{1}").task("charge").build();
  const auto result = pawl::testing::check(fulfil_2, Order{"order-17", 100}, old);
  EXPECT_TRUE(result.agrees) << result.violation;
  EXPECT_EQ(result.added, std::vector<std::string>{"4 {1.1} TaskScheduled check fraud v2"});
  // [/check-history]
  EXPECT_TRUE(pawl::testing::check(fulfil_1, Order{}, old).agrees);
  EXPECT_TRUE(pawl::testing::check(fulfil_3, Order{}, old).agrees);
  EXPECT_TRUE(pawl::testing::check(fulfil_4, Order{}, old).agrees);
  EXPECT_EQ(pawl::testing::check(fulfil_4, Order{}, old).waiting, std::vector<std::string>{"{2}"});
  const auto young = pawl::testing::HistoryBuilder().task("reserve").completed("{1}").build();
  EXPECT_EQ(
      pawl::testing::check(fulfil_4, Order{}, young).added,
      (std::vector<std::string>{"3 {2} VersionChecked v2", "4 {3} TaskScheduled write invoice"}));
}

}  // namespace changing

// --- Testing -------------------------------------------------------------------------------------

namespace testing_kit {

// [workflow-to-test]
pawl::Workflow<std::string> order(pawl::Context ctx, Order in) {
  pawl::Saga saga(ctx);
  const auto hold = co_await ctx.schedule<std::string>("reserve", in);
  co_await saga.add("release", hold);
  co_await ctx.sleep(24h);
  if (!co_await ctx.signal<bool>("approved", {.timeout = 7 * 24h})) {
    throw std::runtime_error("refused");
  }
  co_return hold;
}
// [/workflow-to-test]

// [test-time]
TEST(Order, WaitsADayAndThenForTheOffice) {
  pawl::Registry registry;
  registry.workflow("order", order);
  pawl::testing::Environment env(registry);
  env.fake("reserve", [](const Order& in) { return "hold " + in.id; });
  env.fake("release", [](const std::string&) {});
  auto run = env.start(order, "order-17", Order{"o-17", 100});
  env.advance(25h);  // Costs nothing.
  EXPECT_EQ(run.describe().waiting_for, "signal approved");
  run.signal("approved", true);
  EXPECT_EQ(run.result(), "hold o-17");
}
// [/test-time]

// [test-crash]
TEST(Order, SurvivesACrashAfterEveryEntry) {
  for (std::uint64_t seq = 1; seq <= 10; ++seq) {
    pawl::Registry registry;
    registry.workflow("order", order);
    pawl::testing::Environment env(registry, {.replay_every_turn = true});
    int released = 0;
    env.fake("reserve", [](const Order& in) { return "hold " + in.id; });
    env.fake("release", [&](const std::string&) { ++released; });
    env.crash_after("order-17", seq);
    auto run = env.start(order, "order-17", Order{"o-17", 100});
    run.signal("approved", false);
    EXPECT_THROW(run.result(), pawl::WorkflowFailed) << "after entry " << seq;
    EXPECT_EQ(released, 1) << "after entry " << seq;
  }
}
// [/test-crash]

// [test-history]
TEST(Order, RecordsWhatItShould) {
  pawl::Registry registry;
  registry.workflow("order", order);
  pawl::testing::Environment env(registry);
  env.fake("reserve", [](const Order&) { return std::string("hold"); });
  auto run = env.start(order, "order-17", Order{"o-17", 100});
  run.signal("approved", true);
  run.result();
  EXPECT_EQ(env.history("order-17").text(),
            "1 {1} TaskScheduled reserve\n"
            "2 SignalReceived approved\n"
            "3 {1} TaskCompleted\n"
            "4 {2} CompensationRegistered release\n"
            "5 {3} TimerStarted\n"
            "6 {3} TimerFired\n"
            "7 {4} SignalAwaited approved\n"
            "8 WorkflowCompleted\n");
}
// [/test-history]

// [test-replay]
int visits = 0;
pawl::Workflow<void> forgets_that_it_is_replayed(pawl::Context ctx) {
  ++visits;  // Global state: another value on each replay.
  co_await ctx.schedule(visits % 2 == 1 ? "odd" : "even");
}

TEST(Order, ReplayEveryTurnFindsIt) {
  pawl::Registry registry;
  registry.workflow("forgets", forgets_that_it_is_replayed, {.fingerprint = "1"});
  pawl::testing::Environment env(registry, {.replay_every_turn = true});
  env.fake("odd", [] {}).fake("even", [] {});
  try {
    env.start(forgets_that_it_is_replayed, "x").result();
    FAIL();
  } catch (const pawl::WorkflowFailed& failed) {
    EXPECT_EQ(failed.type(), "DETERMINISM_VIOLATION");
  }
}
// [/test-replay]

}  // namespace testing_kit

}  // namespace

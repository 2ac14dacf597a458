// What the demo page gives for the events of a log, each event counted once however often it is there.
const POINTS = { 'first-of-day': 10, 'first-view': 2 };

export function worth(events, user) {
  const rules = new Map();
  for (const { event } of events) {
    if (user === undefined || event.subject === user) rules.set(event.id, event.data.rule);
  }
  return [...rules.values()].reduce((sum, rule) => sum + POINTS[rule], 0);
}

// How much of a load a drive holds under a limit of latency: the rules of `ioplan answer`.

const WIDEST_SHARE = 35; // shares of reads further apart say nothing of what is between

// The most of one curve, up to where the limit is first exceeded.
const alongDepth = (curve, metric, limit) => {
  const known = curve.filter(({ latency }) => metric in latency)
    .sort((a, b) => a.latency[metric] - b.latency[metric] || a.iops - b.iops);
  const within = known.filter(({ latency }) => latency[metric] < limit);
  const beyond = known[within.length];
  if (!known.length) return null;
  if (!within.length) return { value: null, low: 0, high: beyond.iops, at: beyond };
  const at = within.reduce((best, one) => (one.iops > best.iops ? one : best));
  if (!beyond) return { value: at.iops, low: at.iops, high: Infinity, at };
  if (beyond.iops <= at.iops) return { value: at.iops, low: at.iops, high: at.iops, at, beyond };
  const [low, high] = [at, beyond].map(({ latency }) => latency[metric]);
  const value = at.iops + ((limit - low) / (high - low)) * (beyond.iops - at.iops);
  return { value, low: at.iops, high: beyond.iops, at, beyond };
};

// Between two shares of reads the time for an I/O goes evenly from one to the other.
const betweenShares = (found, reads, metric, limit) => {
  const shares = [...new Set(found.map((one) => one.reads))].sort((a, b) => a - b);
  const k = shares.findIndex((share) => share > reads);
  if (k < 1 || shares[k] - shares[k - 1] > WIDEST_SHARE) return null;
  const ends = [shares[k - 1], shares[k]];
  const [first, last] = ends.map((share) =>
    alongDepth(found.filter((one) => one.reads === share), metric, limit));
  if (!first || !last) return null;
  const [lower, upper] = (first.value ?? 0) <= (last.value ?? 0) ? [first, last] : [last, first];
  const part = (reads - ends[0]) / (ends[1] - ends[0]);
  const value = first.value && last.value ? 1 / ((1 - part) / first.value + part / last.value) : null;
  const low = value ? lower.low : 0;
  return { value, low, high: upper.high, at: lower.at, beyond: lower.beyond, between: ends };
};

const answerOf = (found, { reads, metric, limit }) => {
  const exact = found.filter((one) => one.reads === reads);
  return exact.length ? alongDepth(exact, metric, limit)
    : betweenShares(found, reads, metric, limit);
};

const placeText = ({ at, beyond, between, high }, metric) => {
  if (between) return `, between ${between.join(" % and ")} % reads`;
  if (!beyond) return ` at ${at.where}: no higher load was measured`;
  const past = `${beyond.where} (${short(beyond.latency[metric], "ns")})`;
  return high === at.iops ? ` at ${at.where}, not at ${past}` : `, between ${at.where} and ${past}`;
};

const rateText = (value) => short(value, "1/s");

const heldText = (held) => {
  if (held.high === Infinity) return `at least ${rateText(held.low)} IOPS`;
  if (held.value === held.low) return `${rateText(held.value)} IOPS`;
  return `about ${rateText(held.value)} IOPS (${rateText(held.low)} to ${rateText(held.high)})`;
};

const answerText = (label, held, { metric, limit }) => {
  const demand = `${metric} < ${short(limit, "ns")}`;
  if (!held) return `${label}: not measured`;
  if (held.value === null) {
    const near = held.between ? `, between ${held.between.join(" % and ")} % reads` : "";
    const most = short(held.at.latency[metric], "ns");
    return `${label} does not hold ${demand}: ${metric} is ${most} at ${held.at.where}, the lowest load${near}`;
  }
  return `${label} holds ${heldText(held)} with ${demand}${placeText(held, metric)}`;
};

const expectLine = (held) => {
  if (!held?.low || !held.at.qd) return "";
  const digits3 = Math.floor(Number(`${held.low}`) / 10 ** Math.max(0, Math.floor(Math.log10(held.low)) - 2))
    * 10 ** Math.max(0, Math.floor(Math.log10(held.low)) - 2);
  return `expect iops >= ${digits3.toLocaleString("en").replaceAll(",", "_")} iops when qd == ${held.at.qd}`;
};

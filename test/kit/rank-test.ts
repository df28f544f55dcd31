/**
 * How often a value of `a` exceeds one of `b`, with ties counting half (the rank-sum statistic as a share): 0.5 when both
 * have the same distribution, whatever it is. Robust against outliers.
 */
export function shareGreater(a: readonly number[], b: readonly number[]): number {
  const all = [...a.map((value) => ({ value, isOfA: true })), ...b.map((value) => ({ value, isOfA: false }))];
  all.sort((one, other) => one.value - other.value);
  let rankSum = 0;
  for (let from = 0; from < all.length;) {
    let to = from;
    while (to < all.length && all[to]!.value === all[from]!.value) to++;
    const rank = (from + 1 + to) / 2; // the mean of the ranks of equal values
    for (const { isOfA } of all.slice(from, to)) if (isOfA) rankSum += rank;
    from = to;
  }
  return (rankSum - (a.length * (a.length + 1)) / 2) / (a.length * b.length);
}

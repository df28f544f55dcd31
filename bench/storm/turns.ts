/** The n-th of a list that begins again after its last one. @throws when it is empty */
export function inTurn<T>(list: readonly T[], n: number): T {
  if (list.length === 0) throw new Error('nothing to take turns');
  return list[n % list.length] as T;
}

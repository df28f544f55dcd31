/** The n-th item of a list, which repeats after its last item. @throws when the list is empty */
export function inTurn<T>(list: readonly T[], n: number): T {
  if (list.length === 0) throw new Error('the list is empty');
  return list[n % list.length] as T;
}

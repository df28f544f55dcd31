/** For example "1 file". */
export function filesOf(count: number): string {
  return `${number(count)} ${count === 1 ? 'file' : 'files'}`;
}

/** For example "1,234". */
export function number(count: number): string {
  return count.toLocaleString('en');
}

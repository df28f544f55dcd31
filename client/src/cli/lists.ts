import type { HeldBack } from '../folder/index.js';

const FEW = 20;

/** One line for each of the first paths, and the number of the rest. */
export function listed(what: string, paths: readonly string[]): string[] {
  const lines = paths.slice(0, FEW).map((path) => `${what}: ${path}`);
  return paths.length > FEW ? [...lines, `${what}: ${paths.length - FEW} more`] : lines;
}

export const leftOverLines = (leftOver: readonly HeldBack[]): string[] =>
  leftOver.map(({ path, reason }) => `left over: ${path}: ${reason}`);

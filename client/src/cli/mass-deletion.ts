import type { MassDeletion } from '../folder/index.js';
import type { Prompt } from './prompt.js';

const FEW = 5;

export function questionOf({ direction, paths, of }: MassDeletion): string {
  const some = paths.slice(0, FEW).join(', ');
  const more = paths.length > FEW ? ' and others' : '';
  return `Delete ${paths.length} of ${of} files ${direction} (${some}${more})?`;
}

/** Asks on a terminal, once for each set of deletions; otherwise refuses them unless `--yes` is given. */
export function confirmOn(
  prompt: Prompt,
  isYes: boolean,
  whenRefused: (deletions: MassDeletion) => void = () => undefined,
): (deletions: MassDeletion) => Promise<boolean> {
  const refused = new Set<string>();
  return async (deletions) => {
    if (isYes) return true;
    const key = JSON.stringify([deletions.direction, deletions.paths]);
    if (refused.has(key)) return false;
    if (prompt.isInteractive && (await prompt.confirm(questionOf(deletions)))) return true;
    refused.add(key);
    whenRefused(deletions);
    return false;
  };
}

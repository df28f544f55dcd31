import type { NamedCheckpoint, VaultHistory } from '../../core/index.js';
import { UsageError } from '../errors.js';

/** @param named an id, or a label @throws UsageError when it matches no checkpoint, or several */
export async function findCheckpoint(history: VaultHistory, named: string): Promise<NamedCheckpoint> {
  const checkpoints = await history.checkpoints();
  const byId = checkpoints.find(({ id }) => id === named.toLowerCase());
  if (byId) return byId;
  const [found, ...others] = checkpoints.filter(({ label }) => label === named);
  if (found && others.length === 0) return found;
  if (!found) throw new UsageError(`there is no checkpoint ${named}: see \`cloud-sync checkpoints\``);
  const ids = [found, ...others].map(({ id }) => id).join(', ');
  throw new UsageError(`several checkpoints are called ${named}: name one by its id (${ids})`);
}

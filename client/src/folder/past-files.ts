import type { PastFile, VaultHistory } from '../core/index.js';
import { reasonOf } from './remote-errors.js';
import type { PastFiles } from './restoring.js';

/**
 * Earlier states of files, for `FolderSync.restore`, with their contents from the service.
 * @param mostBytes largest content that is fetched
 * @param signal stops after the current content
 */
export function pastFilesOf(
  files: readonly PastFile[],
  history: VaultHistory,
  mostBytes: number,
  signal?: AbortSignal,
): PastFiles {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const of = (isWanted: (then: PastFile['then']) => boolean): string[] =>
    files.filter(({ then }) => isWanted(then)).map(({ path }) => path);
  return {
    absent: of((then) => then === 'absent'),
    present: of((then) => then !== 'absent' && then !== 'now'),
    unchanged: of((then) => then === 'now'),
    contents: async function* (paths) {
      const wanted = paths.flatMap((path) => byPath.get(path) ?? []);
      for await (const answer of history.contents(wanted, mostBytes)) {
        if ('problem' in answer) yield { path: answer.path, problem: reasonOf(answer.problem) };
        else yield answer;
        if (signal?.aborted === true) return;
      }
    },
  };
}

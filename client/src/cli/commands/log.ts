import type { Command } from 'commander';
import { VaultHistory } from '../../core/index.js';
import type { Run } from '../command.js';
import type { Context } from '../context.js';
import { EXIT } from '../exit-codes.js';
import { formatMoment, jsonMoment } from '../history/moments.js';
import { formatSize } from '../sizes.js';
import { ENVELOPE_OVERHEAD } from '../../folder/index.js';

export function registerLog(program: Command, run: Run): void {
  program
    .command('log')
    .description('list the versions of a file that the service keeps; `restore` brings one back')
    .argument('<file>', 'a file of a folder that is set up, or one that was deleted there')
    .action(
      run(async (context: Context, argument: string) => {
        const { folder, path } = await context.file(argument);
        return context.withVault(folder, async ({ workspace, keys }) => {
          const found = await new VaultHistory(workspace, keys).versions(path);
          const named = found.map(({ id, version, encryptedSize, savedAt, deviceId }) => ({
            ...{ version, id, savedAt },
            ...{ size: Math.max(0, encryptedSize - ENVELOPE_OVERHEAD), device: deviceName(deviceId) },
          }));
          const lines = named.map(
            ({ version, savedAt, size, device }) =>
              `${version}  ${formatMoment(savedAt)}  ${formatSize(size)}  ${device ?? 'unknown device'}`,
          );
          const versions = named.map((one) => ({ ...one, savedAt: jsonMoment(one.savedAt) }));
          const none = `the server has no version of ${path}`;
          context.output.result({ folder: folder.root, path, versions }, lines.length > 0 ? lines : [none]);
          return EXIT.ok;
        });
      }),
    );
}

/** The device name as the user chose it, without the suffix that the client appends. */
const deviceName = (id: string | null): string | null => id && id.replace(/-([0-9a-f]{32}|cli)$/, '');

import { appendFile, mkdir, rm, writeFile } from 'node:fs/promises';
import type { PastState } from '../../client/src/core/index.js';
import { filesOf, number } from './format.js';
import { expect, type Stage } from './stage.js';

const LABEL = 'Before the mess';

/** Shows a checkpoint, an accident, and the restore. Expects `plan.md` and a second file. */
export class CheckpointScene {
  constructor(private readonly stage: Stage) {}

  async *play(): AsyncGenerator<[string, string]> {
    const { laptop, phone } = this.stage;
    for (const { id, label } of await laptop.checkpoints()) {
      if (label === LABEL) await laptop.deleteCheckpoint(id); // left over from an interrupted run
    }
    const { id } = await laptop.checkpoint(LABEL);
    const then = await this.stage.contents(laptop);
    const isThere = ({ id: its, label }: { id: string; label: string | undefined }): boolean =>
      its === id && label === LABEL;
    expect((await phone.checkpoints()).some(isThere), 'the phone to read the label');
    yield ['checkpoint', `the laptop created "${LABEL}"; the phone can read the label, the service cannot`];

    await this.makeMess();
    expect((await this.stage.contents(laptop)) !== then, 'a mess on the laptop');
    yield ['mess', 'the phone edited a file, replaced another one by a directory and added one more'];

    const plan = counted(await laptop.stateAt(id));
    expect(plan.restored === 2 && plan.deleted === 2, 'the manifest to undo only the mess');
    yield ['manifest', describe(plan)];

    await writeFile(this.stage.at(phone, 'late.md'), 'Written while the laptop still looked at the plan.\n');
    await phone.sync();
    const { restored, removed } = await laptop.restore(id);
    const [back, gone] = [restored.length, removed.length];
    expect(back === 2 && gone === 3, 'the manifest to be fetched again');
    yield ['restore', `the phone wrote meanwhile: manifest fetched again, ${back} restored, ${gone} deleted`];

    await phone.sync();
    const { uploaded } = await laptop.sync();
    expect(uploaded.size === 0, 'no restored file to be uploaded again');
    for (const device of [laptop, phone])
      expect((await this.stage.contents(device)) === then, `the checkpoint's files on the ${device.name}`);
    await laptop.deleteCheckpoint(id);
    expect(!(await phone.checkpoints()).some(isThere), 'the checkpoint to be gone');
    yield ['restored', 'laptop and phone are as they were at the checkpoint, which is deleted again'];
  }

  private async makeMess(): Promise<void> {
    const { laptop, phone } = this.stage;
    const [edited = ''] = (await this.stage.names(phone)).filter((name) => name !== 'plan.md');
    await appendFile(this.stage.at(phone, edited), 'Scribble.\n');
    await rm(this.stage.at(phone, 'plan.md'));
    await mkdir(this.stage.at(phone, 'plan.md'));
    await writeFile(this.stage.at(phone, 'plan.md/drafts.md'), 'A file where none could be before.\n');
    await writeFile(this.stage.at(phone, 'junk.md'), 'Junk.\n');
    await phone.sync();
    await laptop.sync();
  }
}

interface Counts {
  readonly restored: number;
  readonly deleted: number;
  readonly same: number;
}

function counted({ files }: PastState): Counts {
  const [deleted, same] = ['absent', 'now'].map((what) => files.filter(({ then }) => then === what).length);
  return { deleted: deleted ?? 0, same: same ?? 0, restored: files.length - (deleted ?? 0) - (same ?? 0) };
}

function describe({ restored, deleted, same }: Counts): string {
  return `${filesOf(restored)} to restore, ${number(deleted)} to delete, ${number(same)} unchanged`;
}

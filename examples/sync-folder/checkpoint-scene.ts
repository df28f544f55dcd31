import { appendFile, mkdir, rm, writeFile } from 'node:fs/promises';
import type { Manifest, ManifestEntry } from './api.js';
import { filesOf, number } from './report.js';
import { expect, type Stage } from './stage.js';

const LABEL = 'Before the mess';

/** Shows a checkpoint, a mess, and the restore. Expects `plan.md` and a second file. */
export class CheckpointScene {
  constructor(private readonly stage: Stage) {}

  async *play(): AsyncGenerator<[string, string]> {
    const { laptop, phone } = this.stage;
    for (const [id, label] of await laptop.checkpoints()) {
      if (label === LABEL) await laptop.deleteCheckpoint(id); // left over from an interrupted run
    }
    const checkpoint = await laptop.checkpoint(LABEL);
    const then = await this.stage.contents(laptop);
    expect((await phone.checkpoints()).get(checkpoint) === LABEL, 'the phone to read the label');
    yield ['checkpoint', `the laptop created "${LABEL}"; the phone can read the label, the service cannot`];

    await this.makeMess();
    expect((await this.stage.contents(laptop)) !== then, 'a mess on the laptop');
    yield ['mess', 'the phone edited a file, replaced another one by a directory and added one more'];

    const plan = await laptop.planRestore(checkpoint);
    const isMessAlone = count(plan, 'restore') === 2 && count(plan, 'delete') === 2;
    expect(isMessAlone, 'the manifest to undo only the mess');
    yield ['manifest', describe(plan)];

    await writeFile(this.stage.at(phone, 'late.md'), 'Written while the laptop still looked at the plan.\n');
    await phone.sync();
    const { restored, deleted, hasDrifted } = await laptop.restore(checkpoint, plan);
    const [back, gone] = [restored.length, deleted.length];
    expect(hasDrifted && back === 2 && gone === 3, 'the manifest to be fetched again');
    yield ['restore', `the phone wrote meanwhile: manifest fetched again, ${back} restored, ${gone} deleted`];

    await phone.sync();
    const { uploaded } = await laptop.sync();
    expect(uploaded.size === 0, 'no restored file to be uploaded again');
    for (const device of [laptop, phone])
      expect((await this.stage.contents(device)) === then, `the checkpoint's files on the ${device.name}`);
    await laptop.deleteCheckpoint(checkpoint);
    expect(!(await phone.checkpoints()).has(checkpoint), 'the checkpoint to be gone');
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

function count({ entries }: Manifest, op: ManifestEntry['op']): number {
  return entries.filter((entry) => entry.op === op).length;
}

function describe(plan: Manifest): string {
  const [restored, deleted, same] = [count(plan, 'restore'), count(plan, 'delete'), count(plan, 'noop')];
  return `${filesOf(restored)} to restore, ${number(deleted)} to delete, ${number(same)} unchanged`;
}

import { appendFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { CheckpointScene } from './checkpoint-scene.js';
import { expect, Stage } from './stage.js';

/** The scenes that the two devices play. */
export class Scenes extends Stage {
  /**
   * Plays the scenes in order and reports the result of each.
   * @throws when the result is unexpected
   */
  async *play(): AsyncGenerator<[string, string]> {
    yield ['edit', await this.edit()];
    yield ['rename', await this.rename()];
    yield ['delete', await this.delete()];
    yield ['conflict', await this.conflict()];
    yield* new CheckpointScene(this).play();
    yield ['cleanup', await this.cleanUp()];
  }

  private async edit(): Promise<string> {
    await mkdir(this.at(this.laptop, '.'), { recursive: true });
    await writeFile(this.at(this.laptop, 'shopping list.md'), '- bread\n');
    await writeFile(this.at(this.laptop, 'plan.md'), 'Meet.\n');
    await this.laptop.sync();
    await this.phone.sync();

    const room = await this.laptop.listen();
    await appendFile(this.at(this.phone, 'shopping list.md'), '- coffee\n');
    const startedAt = performance.now();
    await this.phone.sync();
    await room.news();
    await this.laptop.sync();
    const took = Math.round(performance.now() - startedAt);
    await room.close();
    const text = await readFile(this.at(this.laptop, 'shopping list.md'), 'utf8');
    expect(text === '- bread\n- coffee\n', 'the edited text to arrive');
    return `a line added on the phone is on the laptop, which was notified over the WebSocket: ${took} ms in total`;
  }

  private async rename(): Promise<string> {
    await rename(this.at(this.laptop, 'shopping list.md'), this.at(this.laptop, 'Einkäufe.md'));
    await this.laptop.sync();
    await this.phone.sync();
    expect((await this.names(this.phone)).join() === 'Einkäufe.md,plan.md', 'the new name on the phone');
    return '"shopping list.md" is "Einkäufe.md" on both devices';
  }

  private async delete(): Promise<string> {
    await rm(this.at(this.phone, 'Einkäufe.md'));
    await this.phone.sync();
    await this.laptop.sync();
    expect((await this.names(this.laptop)).join() === 'plan.md', 'the file to be gone from the laptop');
    return 'what the phone deleted is gone from the laptop';
  }

  private async conflict(): Promise<string> {
    await appendFile(this.at(this.laptop, 'plan.md'), 'At noon, says the laptop.\n');
    await appendFile(this.at(this.phone, 'plan.md'), 'At six, says the phone.\n');
    await Promise.all([this.laptop.sync(), this.phone.sync()]); // both come online at the same moment
    await this.laptop.sync();
    await this.phone.sync();

    for (const device of [this.laptop, this.phone]) {
      const names = await this.names(device);
      const texts = await Promise.all(names.map((name) => readFile(this.at(device, name), 'utf8')));
      const kept = ['noon', 'six'].every((word) => texts.some((text) => text.includes(word)));
      expect(names.length === 2 && kept, `both versions on the ${device.name}`);
    }
    const names = (await this.names(this.phone)).map((name) => `"${name}"`);
    return `both changed one file while offline; both versions are on both devices: ${names.join(' and ')}`;
  }

  private async cleanUp(): Promise<string> {
    await rm(this.at(this.laptop, '.'), { recursive: true });
    const { deletedThere } = await this.laptop.sync();
    const { removedHere } = await this.phone.sync();
    expect(deletedThere.size === 2 && removedHere.size === 2, 'both files to be deleted');
    return 'the files of these scenes are deleted again';
  }
}

import { withService } from '../../src/operations/admin/with-service.js';
import { Retention } from '../../src/domain/retention/index.js';

/** The message to the parent process after each run of retention. */
export interface RetentionRun {
  readonly milliseconds: number;
  readonly versions: number;
}

/** Runs retention like the nightly job, whenever the parent process sends a message; ends when it disconnects. */
await withService(async (service) => {
  const retention = service.get(Retention);
  process.on('message', () => {
    const started = performance.now();
    void retention.runDue(new Date()).then(({ versions }) => {
      const run: RetentionRun = { milliseconds: performance.now() - started, versions };
      process.send?.(run);
    });
  });
  process.send?.('ready');
  await new Promise((resolve) => process.once('disconnect', resolve));
});

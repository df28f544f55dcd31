import { Doctor, type Finding } from '../platform/doctor/index.js';
import { TrustedTime } from '../platform/jobs/index.js';
import type { DryRun } from './arguments.js';
import type { Report } from './report.js';
import { withService } from './with-service.js';
import { withStores } from './with-stores.js';

/** More are counted, and not told one by one. */
const TOLD = 1000;

export interface DoctorOptions extends DryRun {
  readonly deep?: true;
  readonly fix?: true;
}

/**
 * Looks whether the service's promises hold; beside a running one. Fails when something is wrong and was not cured. A
 * dry run looks and cures nothing: each finding says what would.
 */
export function examine({ deep, fix, dryRun }: DoctorOptions): Promise<Report> {
  return withService((service) =>
    withStores(async () => {
      const findings: Finding[] = [];
      let found = 0;
      let fixed = 0;
      const now = await service.get(TrustedTime).now();
      const examination = { now, isDeep: deep === true, fix: fix === true && !dryRun };
      for await (const finding of service.get(Doctor).examine(examination)) {
        found += 1;
        if (finding.isFixed) fixed += 1;
        if (findings.length < TOLD) findings.push(finding);
      }
      const remaining = found - fixed;
      const text = [...findings.map(lineOf), summaryOf(found, fixed)].join('\n');
      const fields = { ...(dryRun && { dryRun }), found, fixed, remaining, findings };
      return { ...fields, text, ...(remaining > 0 && { exitCode: 1 }) };
    }),
  );
}

function lineOf({ fault, subject, problem, cure, isFixed }: Finding): string {
  return `${fault}: ${subject}: ${problem} ${isFixed ? 'Cured.' : cure}`;
}

function summaryOf(found: number, fixed: number): string {
  if (found === 0) return 'All is well';
  const told = found > TOLD ? `, of which ${TOLD} are told` : '';
  return `Found ${found}${told}; cured ${fixed}, ${found - fixed} remain`;
}

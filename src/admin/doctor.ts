import { Clock } from '../platform/clock/index.js';
import { Doctor, type Finding } from '../platform/doctor/index.js';
import type { Report } from './report.js';
import { withService } from './with-service.js';
import { withStores } from './with-stores.js';

/** More are counted, and not told one by one. */
const TOLD = 1000;

export interface DoctorOptions {
  readonly deep?: boolean;
  readonly fix?: boolean;
}

/** Looks whether the service's promises hold; beside a running one. Fails when something is wrong and was not cured. */
export function examine({ deep = false, fix = false }: DoctorOptions): Promise<Report> {
  return withService((service) =>
    withStores(async () => {
      const findings: Finding[] = [];
      let found = 0;
      let fixed = 0;
      const now = service.get(Clock).now();
      for await (const finding of service.get(Doctor).examine({ now, isDeep: deep, fix })) {
        found += 1;
        if (finding.isFixed) fixed += 1;
        if (findings.length < TOLD) findings.push(finding);
      }
      const remaining = found - fixed;
      const text = [...findings.map(lineOf), summaryOf(found, fixed)].join('\n');
      return { found, fixed, remaining, findings, text, ...(remaining > 0 && { exitCode: 1 }) };
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

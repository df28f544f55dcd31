import { Controller, Get } from '@nestjs/common';
import { Public, Unlimited } from '../access/index.js';
import { Shutdown } from '../platform/http/index.js';
import { Documented } from '../api-docs/index.js';
import { HEALTH_DOCS } from './health.docs.js';
import { NotReady } from './not-ready.js';
import { type Readiness, ReadinessCheck } from './readiness.js';

@Controller('health')
@Documented(HEALTH_DOCS)
export class HealthController {
  constructor(
    private readonly readiness: ReadinessCheck,
    private readonly shutdown: Shutdown,
  ) {}

  /** Liveness: the process answers. */
  @Get()
  @Unlimited()
  @Public('liveness says nothing about anybody')
  health(): { ok: true } {
    return { ok: true };
  }

  /** Whether to send requests here. Answers within 2 s. @throws NotReady, with the same fields */
  @Get('ready')
  @Unlimited()
  @Public('it names what does not answer, not where that is')
  async ready(): Promise<Readiness> {
    this.shutdown.noteReadinessProbe();
    const state = await this.readiness.look();
    if (!state.ready) throw new NotReady(state, this.shutdown.isUnderWay);
    return state;
  }
}

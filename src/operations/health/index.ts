import { Controller, Get, Module } from '@nestjs/common';
import { Public, Unlimited } from '../../access/index.js';
import { BOOLEAN, Documented, json, named, objectOf, oneOf, STRING } from '../../platform/api-docs/index.js';
import { ApiError, Shutdown } from '../../platform/http/index.js';
import { type Readiness, ReadinessCheck, ReadinessModule } from '../../platform/readiness.js';

const RETRY_AFTER_S = 5;

/** This instance cannot serve requests, or is about to shut down. */
class NotReady extends ApiError {
  readonly status = 503;

  constructor(state: Readiness, isShuttingDown: boolean) {
    const message = isShuttingDown ? 'the service is shutting down' : 'the service is not ready';
    super(message, { ...state }, { 'retry-after': String(RETRY_AFTER_S) });
  }
}

const STATE = {
  ready: BOOLEAN,
  database: oneOf('ok', 'away'),
  blobs: oneOf('ok', 'away'),
  migrations: oneOf('ok', 'behind', 'ahead', 'unknown'),
};

const READINESS = named('Readiness', objectOf<Readiness>(STATE));
const NOT_READY = named('NotReady', objectOf<Readiness & { error: string }>({ error: STRING, ...STATE }));

const HEALTH_DOCS = {
  tag: 'Service',
  operations: {
    health: {
      id: 'service.getHealth',
      summary: 'Check liveness',
      answers: { 200: json('the process responds', objectOf<{ ok: true }>({ ok: { const: true } })) },
    },
    ready: {
      id: 'service.getReadiness',
      summary: 'Check readiness',
      answers: {
        200: json('this instance can serve requests', READINESS),
        503: json('this instance cannot serve requests', NOT_READY),
      },
    },
  },
} as const;

@Controller('health')
@Documented(HEALTH_DOCS)
export class HealthController {
  constructor(
    private readonly readiness: ReadinessCheck,
    private readonly shutdown: Shutdown,
  ) {}

  @Get()
  @Unlimited()
  @Public('liveness contains no user data')
  health(): { ok: true } {
    return { ok: true };
  }

  /** Readiness: whether to send requests here. Answers within 2 s. @throws NotReady, with the same fields */
  @Get('ready')
  @Unlimited()
  @Public('names the failed dependency, not its address')
  async ready(): Promise<Readiness> {
    this.shutdown.noteReadinessProbe();
    const state = await this.readiness.look();
    if (!state.ready) throw new NotReady(state, this.shutdown.isUnderWay);
    return state;
  }
}

@Module({ imports: [ReadinessModule], controllers: [HealthController] })
export class HealthModule {}

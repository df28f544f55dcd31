import {
  type CanActivate,
  type ExecutionContext,
  Global,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  SetMetadata,
} from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Column, Entity, PrimaryColumn, Repository } from 'typeorm';
import { Clock } from './clock.js';
import { Database, type Tx } from './database/index.js';
import { EventBus } from './events/index.js';
import { afterBody, declared, isHealth, ServiceUnavailable } from './http/index.js';
import { Log } from './log.js';

export const MODES = ['off', 'read-only', 'down'] as const;

/**
 * `read-only` refuses writes of content, settings or tokens; `down` refuses everything but health requests and preflights: a
 * page must be able to read the refusal.
 */
export type Mode = (typeof MODES)[number];

/** A single row; absent until the switch is first set. */
@Entity('kill_switch')
export class StoredMode {
  @PrimaryColumn('boolean')
  id: true;

  @Column('text')
  mode: Mode;

  @Column('timestamptz')
  setAt: Date;
}

const TOPIC = 'kill-switch';
const LOOK_EVERY_MS = 2_000;
const RETRY_AFTER_S = 30;

/**
 * Blocks requests during maintenance of the underlying systems. The mode is stored in the database, so it survives restarts and
 * applies to all instances; each instance is notified of a change through the event bus, and polls every 2 s.
 */
@Injectable()
export class KillSwitch implements OnApplicationBootstrap {
  private current: Mode = 'off';
  private readonly listeners: ((mode: Mode) => void)[] = [];
  /** Sequence numbers of the last read started and of the latest one answered. */
  private looks = 0;
  private answered = 0;

  constructor(
    @InjectRepository(StoredMode) private readonly modes: Repository<StoredMode>,
    private readonly database: Database,
    private readonly bus: EventBus,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  get mode(): Mode {
    return this.current;
  }

  onChange(listener: (mode: Mode) => void): void {
    this.listeners.push(listener);
  }

  /**
   * Sets the mode for all instances, until it is set again.
   * @param note runs in the same transaction
   */
  async set(mode: Mode, note: (tx: Tx) => Promise<void> = () => Promise.resolve()): Promise<void> {
    await this.database.transaction(async (tx) => {
      const row = { id: true as const, mode, setAt: this.clock.now() };
      await tx.manager.getRepository(StoredMode).upsert(row, ['id']);
      await note(tx);
    });
    this.bus.publish({ topic: TOPIC, key: mode });
  }

  async onApplicationBootstrap(): Promise<void> {
    this.bus.on(TOPIC, () => void this.look());
    await this.look();
  }

  /** If the database does not answer, the mode does not change. */
  @Interval(LOOK_EVERY_MS)
  async look(): Promise<void> {
    const look = ++this.looks;
    await this.log.bestEffort('read the kill switch', async () => {
      const row = await this.modes.findOneBy({ id: true });
      if (look < this.answered) return; // a late answer must not override a newer one
      this.answered = look;
      this.change(row?.mode ?? 'off');
    });
  }

  /** While the mode is `down`, no request gets past this hook. */
  refuseRequestsOf(fastify: FastifyInstance): void {
    fastify.addHook('preParsing', (request, _reply, _body, done) => {
      if (isHealth(request.url)) done();
      else done(this.refusal('down'));
    });
  }

  /** @throws ServiceUnavailable in these modes */
  refuseWhen(...modes: Mode[]): void {
    const refusal = this.refusal(...modes);
    if (refusal) throw refusal;
  }

  /** The refusal if one of these modes is active. */
  refusal(...modes: Mode[]): ServiceUnavailable | undefined {
    if (!modes.includes(this.current)) return undefined;
    const isDown = this.current === 'down';
    const message = isDown
      ? 'the service is down for maintenance'
      : 'the service is read-only for maintenance';
    return new ServiceUnavailable(message, RETRY_AFTER_S);
  }

  private change(mode: Mode): void {
    if (mode === this.current) return;
    this.current = mode;
    this.log.warn({ mode }, 'the kill switch was set');
    for (const listener of this.listeners) listener(mode);
  }
}

const OPEN = 'open-when-read-only';

/** The route stays available while the service is read-only, although its method could write; `reason` must say why. */
export const OpenWhenReadOnly = (reason: string): MethodDecorator & ClassDecorator =>
  SetMetadata(OPEN, reason);

const READS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Runs before all other guards, and again after the body: 503 for writes while the service is read-only. */
@Injectable()
export class KillSwitchGuard implements CanActivate {
  constructor(private readonly killSwitch: KillSwitch) {}

  canActivate(context: ExecutionContext): boolean {
    const { raw, method } = context.switchToHttp().getRequest<FastifyRequest>();
    const mayGoOn = READS.has(method) || declared(context, OPEN) !== undefined;
    const check = (): void => {
      if (!mayGoOn) this.killSwitch.refuseWhen('read-only');
    };
    check();
    afterBody(raw, () => {
      this.killSwitch.refuseWhen('down');
      check();
    });
    return true;
  }
}

@Global()
@Module({
  imports: [TypeOrmModule.forFeature([StoredMode])],
  providers: [KillSwitch, KillSwitchGuard],
  exports: [KillSwitch, KillSwitchGuard],
})
export class KillSwitchModule {}

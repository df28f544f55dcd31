import { Controller, Get, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../access/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { AuditedKillSwitch } from '../../domain/auth/audit/index.js';
import { BadRequest } from '../../platform/http/index.js';
import { MODES, OpenWhenReadOnly } from '../../platform/kill-switch/index.js';
import { AdminDoor } from './admin-door.js';
import { SERVICE_DOCS } from './admin-pages.docs.js';
import { DoctorRuns } from './doctor-runs.js';
import { AdminErrorFilter } from './hidden.js';
import { ServiceStatusOverview } from './service-status.js';
import { serviceView } from './service-view.js';

const SERVICE = '/admin/service';

const DONE = {
  'kill-switch': 'The kill switch is set. Every instance follows within five seconds.',
  doctor: 'The check has started. Reload this page to see its result.',
} as const;

/** Health, jobs, kill switch and doctor, for administrators. */
@Controller('admin/service')
@Documented(SERVICE_DOCS)
@Public('AdminDoor admits administrators; for everybody else there is nothing here')
@OpenWhenReadOnly('ends that state; writes no content')
@UseFilters(AdminErrorFilter)
export class ServiceController {
  constructor(
    private readonly door: AdminDoor,
    private readonly status: ServiceStatusOverview,
    private readonly killSwitch: AuditedKillSwitch,
    private readonly doctorRuns: DoctorRuns,
  ) {}

  @Get()
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.door.show(request, reply, async ({ csrfToken, query }) => {
      const done = query.text('done');
      return {
        title: 'Service',
        section: 'Service',
        notice: Object.hasOwn(DONE, done) ? DONE[done as keyof typeof DONE] : undefined,
        content: serviceView({
          status: await this.status.now(),
          lastCheck: await this.doctorRuns.last(),
          csrfToken,
        }),
      };
    });
  }

  @Post('kill-switch')
  async setKillSwitch(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.door.act(request, reply, async ({ form, by }) => {
      const mode = MODES.find((one) => one === form.text('mode'));
      if (!mode) throw new BadRequest('choose a mode');
      await this.killSwitch.set(mode, by);
      return { location: `${SERVICE}?done=kill-switch` };
    });
  }

  @Post('doctor')
  async startDoctor(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.door.act(request, reply, async ({ by }) => {
      await this.doctorRuns.start(by);
      return { location: `${SERVICE}?done=doctor` };
    });
  }
}

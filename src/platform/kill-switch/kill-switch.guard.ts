import { type CanActivate, type ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { afterBody, type ServiceUnavailable } from '../http/index.js';
import { KillSwitch } from './kill-switch.js';

const OPEN = 'open-when-read-only';

/** The route goes on while the service is read-only, although its method could write: say why it may. */
export const OpenWhenReadOnly = (reason: string): MethodDecorator & ClassDecorator =>
  SetMetadata(OPEN, reason);

const READS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Before all other guards, and again after the body: 503 for what writes, while the service is read-only. */
@Injectable()
export class KillSwitchGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly killSwitch: KillSwitch,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const { raw } = context.switchToHttp().getRequest<FastifyRequest>();
    answer(this.refusal(context));
    afterBody(raw, () => answer(this.killSwitch.refusal('down') ?? this.refusal(context)));
    return true;
  }

  private refusal(context: ExecutionContext): ServiceUnavailable | undefined {
    const refusal = this.killSwitch.refusal('read-only');
    if (!refusal) return undefined;
    const { method } = context.switchToHttp().getRequest<FastifyRequest>();
    const targets = [context.getHandler(), context.getClass()];
    const isOpen = this.reflector.getAllAndOverride<unknown>(OPEN, targets) !== undefined;
    return READS.has(method) || isOpen ? undefined : refusal;
  }
}

function answer(refusal: ServiceUnavailable | undefined): void {
  if (refusal) throw refusal;
}

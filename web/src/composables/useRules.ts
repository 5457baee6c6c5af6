/** One's own rules, those of the settings for whoever is told of them, and the tools and agents that they are about. */
import { onMounted, shallowRef } from 'vue'

import { api } from '@/api/client'
import type { AgentSummary, KeptRule, Permission, RuleList, ToolSummary } from '@/api/types'
import { useAccount } from '@/stores/account'

export type Verdict = KeptRule['rule']['verdict']

/** The strongest first. */
export const VERDICTS: readonly Verdict[] = ['deny', 'ask', 'allow']

export interface NewRule {
  verdict: Verdict
  tool: string
  arguments: Record<string, string>
}

export interface Trial {
  tool: string
  arguments: Record<string, unknown>
  agent: string | null
}

export function useRules() {
  const account = useAccount()
  const rules = shallowRef<KeptRule[] | null>(null)
  /** The operator's; `null` for who is not an admin. */
  const settings = shallowRef<KeptRule['rule'][] | null>(null)
  const tools = shallowRef<ToolSummary[]>([])
  const agents = shallowRef<AgentSummary[]>([])
  const problem = shallowRef<unknown>(null)

  async function load(): Promise<void> {
    try {
      const [kept, known, acting] = await Promise.all([
        api.get<RuleList>('/rules'),
        api.get<{ tools: ToolSummary[] }>('/tools'),
        api.get<{ agents: AgentSummary[] }>('/agents'),
      ])
      rules.value = kept.rules
      settings.value = account.admin ? kept.settings : null
      tools.value = known.tools
      agents.value = acting.agents
      problem.value = null
    } catch (error) {
      problem.value = error
    }
  }

  async function reread(): Promise<void> {
    rules.value = (await api.get<RuleList>('/rules')).rules
  }

  async function add(rule: NewRule): Promise<void> {
    await api.post<KeptRule>('/rules', rule)
    await reread()
  }

  async function remove(id: string): Promise<void> {
    await api.remove(`/rules/${encodeURIComponent(id)}`)
    await reread()
  }

  /** What would become of a call. */
  async function tryOut(trial: Trial): Promise<Permission> {
    return await api.post<Permission>('/rules/test', trial)
  }

  onMounted(load)
  return { rules, settings, tools, agents, problem, load, add, remove, tryOut }
}

/** The pages, by address. The address holds what is looked at, so that it can be shared; it holds no secret. */
import { createRouter, createWebHistory } from 'vue-router'

export const router = createRouter({
  history: createWebHistory(),
  routes: [
    { path: '/', name: 'welcome', component: () => import('@/pages/ChatPage.vue'), props: { sessionId: '' } },
    { path: '/chat/:sessionId', name: 'chat', component: () => import('@/pages/ChatPage.vue'), props: true },
    { path: '/approvals', name: 'inbox', component: () => import('@/pages/InboxPage.vue') },
    { path: '/runs', name: 'runs', component: () => import('@/pages/RunsPage.vue') },
    { path: '/runs/:runId', name: 'run', component: () => import('@/pages/RunPage.vue'), props: true },
    { path: '/compare', name: 'compare', component: () => import('@/pages/ComparePage.vue') },
    { path: '/settings/:tab?', name: 'settings', component: () => import('@/pages/SettingsPage.vue'), props: true },
    { path: '/:rest(.*)*', name: 'gone', component: () => import('@/pages/GonePage.vue') },
  ],
})
